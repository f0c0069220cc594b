# What was done in each slice and in all of them, in the contract's words.

# All slices of this worker, one after the other: an environment with its functions.
window_of <- function(worker) {
  elapsed_s <- 0
  cpu <- list(total_us = 0, user_us = 0, system_us = 0)
  self <- environment()
  counted <- function() mget(c("operations", "latency_sum_ns", "connections", "error_count"), envir = worker$tally)
  before <- reported <- counted()
  begun_ns <- 0

  # A slice begins; when, by the monotonic clock in nanoseconds.
  open_slice <- function() {
    self$before <- self$reported <- counted()
    self$begun_ns <- now_ns()
    begun_ns
  }
  # The contract's `slice` event for what was done since it was opened, in that CPU time.
  close_slice <- function(length_s, used) {
    now <- counted()
    took_ns <- worker$tally$last_answer_ns - begun_ns
    slice_s <- if (took_ns > 0) took_ns / 1e9 else length_s
    self$elapsed_s <- elapsed_s + slice_s
    self$cpu <- Map(`+`, cpu, used)
    list(
      event = "slice", elapsed_s = slice_s, operations = now$operations - before$operations,
      latency_sum_s = (now$latency_sum_ns - before$latency_sum_ns) / 1e9, cpu_us = used$total_us,
      counts = counts_of(now$connections - before$connections)
    )
  }
  # The contract's `interval` event: what was done since the last one, or since the slice began.
  interval <- function() {
    last <- reported
    self$reported <- counted()
    list(
      event = "interval", elapsed_s = (now_ns() - begun_ns) / 1e9, operations = reported$operations - last$operations,
      errors = reported$error_count - last$error_count
    )
  }
  # The contract's `done` event.
  done <- function() {
    tally <- worker$tally
    histograms <- lapply(tally$latencies, function(noted) encoded_histogram(noted$values()))
    list(
      event = "done", elapsed_s = elapsed_s, operations = tally$operations, scheduled = tally$started, skipped = 0,
      window = counts_of(tally$connections), lifetime = counts_of(worker$opened), histograms_ns = object_of(histograms),
      cpu = cpu, wire = NA, errors = unname(tally$errors), row_samples = tally$samples
    )
  }
  self
}

# Connections opened; handshakes and ways of logging in are not counted.
counts_of <- function(connections) {
  list(connections = connections, handshakes = list(), authentications = object_of(list()))
}

# A list that JSON has as an object, also where it is empty.
object_of <- function(list) if (length(list) > 0) list else stats::setNames(list(), character())
