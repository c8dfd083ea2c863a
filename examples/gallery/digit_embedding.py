"""
A map of images
===============

``IEGPLVM`` places rows of many columns on a map of two dimensions. The first rows are placed together; every later
row is placed when it comes, and learned.
"""

import numpy as np
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
# A position can be turned back into an image, and new rows can be placed without learning them.
back = np.asarray(model.inverse_transform(positions[:3]))
print("images back from the map:", back.shape, " new positions:", model.transform(images[:3]).shape)
