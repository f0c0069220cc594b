# The process's clocks: the monotonic one in nanoseconds, and the CPU time that was used.
# frozen_string_literal: true

module DriverContract
  # Readings of clocks.
  module Clock
    module_function

    # The monotonic clock in nanoseconds.
    def now_ns = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

    # CPU time of the process in microseconds: in all by a nanosecond clock, and split as the kernel has it.
    def cpu_us
      used = Process.times
      total_us = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond) / 1000.0
      { total_us:, user_us: used.utime * 1e6, system_us: used.stime * 1e6 }
    end
  end
end
