"""Who takes locks, and how many."""
