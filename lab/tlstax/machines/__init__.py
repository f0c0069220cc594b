"""Many machines, joined by Ray: what they are, and blocks of a run that are measured on each of them."""
