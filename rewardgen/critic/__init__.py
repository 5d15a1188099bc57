"""Reviews rewards before any training."""
