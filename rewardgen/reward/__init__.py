"""The reward language: from a text in a reply to a checked, guarded, compiled program."""
