"""The run's memory: records, events, history, journal, run folder."""
