"""Clients for language models, prompts, and the archive of every call."""
