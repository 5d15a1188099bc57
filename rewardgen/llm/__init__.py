"""Language models: one protocol, several ways to reach a model, and the archive of every call."""
