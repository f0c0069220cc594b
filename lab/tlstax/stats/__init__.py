"""What every topic stands on: outcomes, comparisons in blocks, intervals, noise floors, when to stop."""
