"""Batched proximal policy optimisation: the policies of many candidates and seeds, trained side by side."""
