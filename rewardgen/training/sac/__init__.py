"""The trainer `sac`: batched soft actor-critic."""
