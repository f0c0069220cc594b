# What all connections share: how many operations are left, and how many have failed in a row.
# frozen_string_literal: true

module DriverContract
  # Operations are taken from here by all threads; no more are given once it has ended.
  class Turns
    # That many, over all connections, end the job (contract/README.md).
    FAILURES_IN_A_ROW = 100

    attr_reader :fatal

    def initialize
      @lock, @left, @ended, @failures, @fatal = Mutex.new, nil, false, 0, nil
    end

    # That many are to be started from now on; nil for as many as the time allows.
    def begin(operations)
      @left, @ended = operations, !@fatal.nil?
    end

    # Whether a sequence has run out, or the job has failed.
    def ended? = @ended

    # Whether one may be started now.
    def take
      return false if @ended
      return true if @left.nil?

      @lock.synchronize { @left.positive? && (@left -= 1) && true }
    end

    # No further operation is to be started.
    def end = @ended = true

    # An operation went well.
    def succeeded = @failures = 0

    # An operation failed; whether that was the last straw, which `fatal` then tells.
    def failed(failure)
      @lock.synchronize do
        @failures += 1
        if %w[bad_job internal].include?(failure.kind) || @failures >= FAILURES_IN_A_ROW
          @fatal ||= failure
          @ended = true
        end
        @ended
      end
    end
  end
end
