"""Programs between client and server: tunnels and proxies, started privately, proved to be in the way."""
