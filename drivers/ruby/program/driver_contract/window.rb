# What was done in each slice and in all of them, in the contract's words.
# frozen_string_literal: true

require "driver_contract/clock"
require "driver_contract/worker"

module DriverContract
  # All slices, one after the other: opened at `go`, closed when all workers have done with it.
  class Window
    def initialize(workers)
      @workers = workers
      workers.each { |worker| worker.tally = Tally.new }
      @elapsed_s, @cpu = 0.0, { total_us: 0.0, user_us: 0.0, system_us: 0.0 }
      @before = @reported = counted
    end

    # Whether a slice was closed.
    def slices? = @elapsed_s.positive?

    # A slice begins; when, by the monotonic clock in nanoseconds.
    def open_slice
      @before = @reported = counted
      @begun_ns, @cpu_before = Clock.now_ns, Clock.cpu_us
      @begun_ns
    end

    # The contract's `slice` event for what was done since it was opened, which was to last that long.
    def close_slice(length_s)
      now, last_ns = counted, tallies.map(&:last_answer_ns).max
      elapsed_s = last_ns > @begun_ns ? (last_ns - @begun_ns) / 1e9 : length_s
      @elapsed_s += elapsed_s
      cpu = Clock.cpu_us.to_h { |share, us| [share, us - @cpu_before[share]] }
      @cpu = @cpu.to_h { |share, us| [share, us + cpu[share]] }
      {
        event: "slice", elapsed_s:, operations: now[:operations] - @before[:operations],
        latency_sum_s: (now[:latency_sum_ns] - @before[:latency_sum_ns]) / 1e9, cpu_us: cpu[:total_us],
        counts: counts(now[:connections] - @before[:connections])
      }
    end

    # The contract's `interval` event: what was done since the last one, or since the slice began.
    def interval
      before, @reported = @reported, counted
      {
        event: "interval", elapsed_s: (Clock.now_ns - @begun_ns) / 1e9,
        operations: @reported[:operations] - before[:operations], errors: @reported[:errors] - before[:errors]
      }
    end

    # The contract's `done` event.
    def done
      {
        event: "done", elapsed_s: @elapsed_s, operations: counted[:operations], scheduled: tallies.sum(&:started),
        skipped: 0, window: counts(counted[:connections]), lifetime: counts(@workers.sum(&:opened)),
        histograms_ns: histograms, cpu: @cpu, wire: nil, errors:, row_samples:
      }
    end

    private

    def tallies = @workers.map(&:tally)

    def counted
      {
        operations: tallies.sum(&:operations), latency_sum_ns: tallies.sum(&:latency_sum_ns),
        connections: tallies.sum(&:connections), errors: tallies.sum { |tally| tally.errors.values.sum }
      }
    end

    # Connections opened; handshakes and ways of logging in are not counted.
    def counts(connections) = { connections:, handshakes: [], authentications: {} }

    def histograms
      sums = Hash.new { |all, phase| all[phase] = Histogram.new }
      tallies.each { |tally| tally.histograms.each { |phase, histogram| sums[phase].add(histogram) } }
      sums.transform_values(&:encoded)
    end

    def errors
      sums = tallies.map(&:errors).inject { |one, other| one.merge(other) { |_, count, more| count + more } }
      sums.map { |(kind, code), count| { kind:, code:, count: } }
    end

    def row_samples
      tallies.flat_map(&:samples).map do |sql, rows|
        { sql:, rows: rows.map { |row| row.map { |value| Session.shown(value) } } }
      end
    end
  end
end
