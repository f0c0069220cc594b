"""A large study at a glance: pooled tables and heat maps."""
