"""Competitors for maps: online PCA, kernel PCA, and three Gaussian process latent variable models.

Each has ``fit_transform(X)``, which returns the positions of the rows of X in the plane. Rows are centred and divided
by one scale, as in IE-GPLVM. GPLVM and varGPLVM are GPy's (``pip install GPy``), imported on first use.
"""

from iegp_paper.competitors.maps.gplvm import GPLVM, VarGPLVM
from iegp_paper.competitors.maps.kernel_pca import BestKernelPCA
from iegp_paper.competitors.maps.ongplvm import OnGPLVM
from iegp_paper.competitors.maps.online_pca import OnlinePCA

__all__ = ["GPLVM", "BestKernelPCA", "OnGPLVM", "OnlinePCA", "VarGPLVM"]
