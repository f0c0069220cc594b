"""What each of several machines shows by itself, and whether they differ."""
