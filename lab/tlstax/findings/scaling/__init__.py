"""How throughput grows with connections or processors."""
