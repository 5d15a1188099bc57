"""Training with Stable-Baselines3: any environment, choices as actions, and learners off policy."""
