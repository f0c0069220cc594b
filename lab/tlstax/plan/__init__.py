"""From a study to its trials: in which order, for how long, as which jobs. Pure: each seed has one order."""
