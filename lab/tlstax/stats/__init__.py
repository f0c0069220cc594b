"""From stored trials to comparisons in blocks, intervals, noise floors and judgements; and when to stop."""
