"""Training on a Ray cluster."""
