"""What a run remembers: records, events, history, journal, and the run folder."""
