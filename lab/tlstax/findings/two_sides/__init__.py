"""What one of two sides changes beside the other."""
