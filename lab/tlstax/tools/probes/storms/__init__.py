"""How large a storm of connections a server takes: searched, size by size."""
