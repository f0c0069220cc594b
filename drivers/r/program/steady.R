# When a warm-up has done its work: CPU time per operation no longer falls.

WARMUP_SLICE_S <- 0.1
COMPARED <- 5

# The later median of CPU per operation, as a part of the earlier one (contract/README.md).
STEADY_AT_LEAST <- 0.95

# Whether the last five slices cost at least 0.95 of what the five before them did, per operation.
is_steady <- function(slices) {
  if (length(slices) < 2 * COMPARED) return(FALSE)
  costs <- vapply(utils::tail(slices, 2 * COMPARED), function(slice) {
    if (slice$operations == 0) Inf else slice$cpu_us / slice$operations
  }, 0)
  before <- stats::median(costs[seq_len(COMPARED)])
  after <- stats::median(costs[COMPARED + seq_len(COMPARED)])
  is.finite(after) && after >= STEADY_AT_LEAST * before
}
