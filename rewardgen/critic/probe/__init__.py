"""Run a reward on recorded transitions and beyond them."""
