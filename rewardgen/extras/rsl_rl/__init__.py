"""RSL-RL's PPO as a trainer."""
