"""A run: servers made ready, trials in their order, what they leave put right. It acts on the world."""
