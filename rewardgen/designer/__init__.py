"""Designers of rewards: a language model, or rules."""
