"""Rewards, policies and environments as files that work without rewardgen."""
