"""What a run of a reward on recorded transitions shows."""
