"""Batched simulation: the simulator protocol, vectorised environments, episodes, recorded transitions."""
