"""What a person sees in the terminal, made from a run's history."""
