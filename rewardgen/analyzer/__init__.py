"""What training showed: numbers, known failures, a diagnosis."""
