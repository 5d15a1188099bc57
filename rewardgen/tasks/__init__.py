"""The task protocol, task files, the card, checks, and drafts from words."""
