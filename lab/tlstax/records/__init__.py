"""What is kept of a run, as frozen types: trials, their windows, what a tap wrote down."""
