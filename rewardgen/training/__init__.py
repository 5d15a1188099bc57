"""Batched training: many candidates and seeds as slices of one PPO over one batched simulator."""
