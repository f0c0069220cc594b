"""From stored trials to what they show: comparisons, intervals, findings, the answer in words."""
