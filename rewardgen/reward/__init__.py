"""The reward contract: extraction, language, signature, identity, and the compiled program."""
