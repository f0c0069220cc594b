"""The engine holding many connections, and reading long results; what it costs beside others is a study."""
