"""What distance makes of costs, and when a tunnel is worth it, by what cases take block by block."""
