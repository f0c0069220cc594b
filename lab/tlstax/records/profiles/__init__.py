"""Profiles: stacks that were sampled, and what they say of where CPU time went."""
