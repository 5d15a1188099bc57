"""The reward language: allow-list, compiled program, pricing, distance."""
