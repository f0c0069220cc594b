"""What is unsafe about an inspected server, what its connects pay for, and who could connect. Pure."""
