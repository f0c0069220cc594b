"""From a study to its trials: in which order, for how long, as which jobs. Pure: the same for the same seed."""
