"""The statistics: from stored trials to comparisons, intervals and judgements."""
