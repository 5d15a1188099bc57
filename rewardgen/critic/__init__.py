"""Gates that reject a reward before any training is spent on it."""
