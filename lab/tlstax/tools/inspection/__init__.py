"""A server as it is, from outside: what its TLS takes, what it shows, and what a login there needs."""
