"""The command line: what users type, what they see while it works, and how it ends."""
