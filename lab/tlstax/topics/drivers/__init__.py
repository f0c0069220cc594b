"""What drivers do by default, what its parts cost, how they warm up."""
