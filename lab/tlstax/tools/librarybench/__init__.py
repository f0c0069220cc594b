"""`tlstax library-bench`: TLS libraries alone, both sides of a connection in one process."""
