"""PettingZoo's parallel games."""
