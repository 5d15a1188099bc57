"""What proposes and repairs rewards: a language model, or rules."""
