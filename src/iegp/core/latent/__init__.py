"""The streaming latent variable model (IE-GPLVM)."""
