"""Batched simulation of tasks: models, worlds, task cards, transition banks, task checks."""
