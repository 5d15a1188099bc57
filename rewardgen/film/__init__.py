"""Films of policies."""
