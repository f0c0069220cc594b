# When a warm-up has done its work: CPU time per operation no longer falls.
# frozen_string_literal: true

module DriverContract
  WARMUP_SLICE_S = 0.1
  COMPARED = 5
  # The later median of CPU per operation, as a part of the earlier one (contract/README.md).
  STEADY_AT_LEAST = 0.95

  module_function

  # Whether the last five slices cost at least 0.95 of what the five before them did, per operation.
  def steady?(slices)
    return false if slices.size < 2 * COMPARED

    costs = slices.last(2 * COMPARED).map do |slice|
      slice[:operations].zero? ? Float::INFINITY : slice[:cpu_us] / slice[:operations]
    end
    before, after = costs.each_slice(COMPARED).map { |five| five.sort[COMPARED / 2] }
    after.finite? && after >= STEADY_AT_LEAST * before
  end
end
