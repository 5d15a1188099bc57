"""Designers of rewards: a language model, or the built-in templates."""
