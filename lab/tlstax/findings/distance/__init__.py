"""What distance and tunnels cost, and when a tunnel is worth it."""
