"""A run as it goes, on a page of this machine: what it notes of itself, who follows that, who serves it."""
