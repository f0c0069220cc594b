# The process's clocks: the monotonic one in nanoseconds, and the CPU time that work takes.

# The monotonic clock in nanoseconds.
now_ns <- function() microbenchmark::get_nanotime()

# Do this work; its CPU time in microseconds, in all by a nanosecond clock, and split as R tells it in milliseconds.
cpu_of <- function(work) {
  before <- proc.time()
  total_us <- 1e6 * as.numeric(bench::bench_time(work())[["process"]])
  used <- proc.time() - before
  ticks <- used[["user.self"]] + used[["sys.self"]]
  # The share first: it is one at the most, and so nothing below zero is left.
  user_us <- if (ticks > 0) total_us * (used[["user.self"]] / ticks) else total_us
  list(total_us = total_us, user_us = user_us, system_us = total_us - user_us)
}

# Load what the clocks are read by: the first reading would take longer than a slice may.
wind_up_clocks <- function() invisible(cpu_of(now_ns))
