"""What a server's owner could change, what each change would save, and how it is made. Pure."""
