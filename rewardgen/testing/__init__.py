"""Public fakes for tests and examples: a scripted language model and a local OpenAI-compatible server."""
