"""What every topic is shown with: groups, figures, facts, evidence, charts and their marks."""
