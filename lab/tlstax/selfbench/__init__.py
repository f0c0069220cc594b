"""The self-bench: the engine against sysbench and against the bare floor, on one server in one run."""
