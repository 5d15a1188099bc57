"""Fakes for tests and examples: a scripted model and an OpenAI-compatible server."""
