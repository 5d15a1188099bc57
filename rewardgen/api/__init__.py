"""The public Python interface: run, open, check, train, evaluate, draft."""
