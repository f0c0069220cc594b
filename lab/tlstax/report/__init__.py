"""Everything that people read of a run: pure functions from a stored run and its document to text."""
