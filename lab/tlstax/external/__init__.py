"""External servers: how to get in, what is refused, and how they are left as they were found."""
