"""What this machine can and cannot measure, and what would help: checks of it, each with its consequence."""
