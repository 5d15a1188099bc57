"""Trainers: batched PPO in worker processes, clean evaluation, saved policies, validation of results."""
