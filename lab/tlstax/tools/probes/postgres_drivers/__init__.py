"""Probes of PostgreSQL's drivers: by each of their words for TLS, at a real server and on a hostile wire."""
