"""Worker processes: how they are started, limited and ended."""
