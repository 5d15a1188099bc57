"""Design, train and verify reward functions for reinforcement learning."""

__version__ = "0.1.0"
