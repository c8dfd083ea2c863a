"""
A map of images
===============

``IEGPLVM`` places rows of many columns on a map of two dimensions. The first rows are placed together; every later
row is placed when it comes, and learned.
"""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from iegp import IEGPLVM
from iegp.plots import plot_map

images, digits = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(images))[:600]
images, digits = images[order], digits[order]

model = IEGPLVM(warmup=200, random_state=0)
positions = model.fit_transform(images)

# %%
# Colours are the digits, which the model has not seen.
plot_map(positions, digits, title="600 images of digits").get_figure(root=True)

# %%
# A position can be turned back into an image. Above what was given, below what the model predicts from the position.
back = np.asarray(model.inverse_transform(positions[:10]))
figure = Figure(figsize=(9, 2.2), layout="constrained")
for axes, image in zip(figure.subplots(2, 10).flat, [*images[:10], *back], strict=True):
    axes.imshow(image.reshape(8, 8), cmap="gray_r")
    axes.set_axis_off()
figure
