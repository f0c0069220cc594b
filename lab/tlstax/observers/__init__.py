"""What is watched while a trial runs."""
