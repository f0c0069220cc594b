"""What a connection that is kept costs a server in memory."""
