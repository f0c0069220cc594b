"""Published tables beside what was measured in their place, and what is judged of them."""
