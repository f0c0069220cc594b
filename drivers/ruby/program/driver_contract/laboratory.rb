# The other end of standard input and output: lines come in, events go out.
# frozen_string_literal: true

require "driver_contract/clock"
require "driver_contract/failure"
require "json"

module DriverContract
  # Standard input has ended: stop at once.
  class LaboratoryGone < StandardError; end

  # Standard input, read without a thread of its own, and standard output.
  class Laboratory
    # No time is longer than a year (contract/README.md).
    LONGEST_S = 365.25 * 86_400

    def initialize
      @unread = +""
    end

    # The next line. Raises LaboratoryGone.
    def line
      read until @unread.include?("\n")
      @unread.slice!(0..@unread.index("\n")).strip
    end

    # How long the next slice is to last; nil where there is to be none. Other lines mean nothing.
    def next_slice_s
      loop do
        words = line.split
        return nil if words == ["end"]
        return Laboratory.slice_length_s(words) if words.first == "go"
      end
    end

    # Wait until this other stream can be read, so long at most; whether it can. Raises LaboratoryGone.
    def wait(other, within_s)
      deadline_ns = Clock.now_ns + (within_s * 1e9).to_i
      loop do
        left_s = (deadline_ns - Clock.now_ns) / 1e9
        readable, = IO.select([$stdin, other], nil, nil, [left_s, 0].max)
        return false unless readable
        return true if readable.include?(other)

        read
      end
    end

    # Return when standard input has ended.
    def wait_for_end
      loop { read }
    rescue LaboratoryGone
      nil
    end

    # Write an event. Raises LaboratoryGone where nobody reads it.
    def say(event)
      $stdout.write("#{JSON.generate(event)}\n")
      $stdout.flush
    rescue Errno::EPIPE
      raise LaboratoryGone
    end

    # What stands behind `go`: one number of seconds. Raises Failure (bad_job).
    def self.slice_length_s(words)
      length_s = words.size == 2 ? Float(words[1], exception: false) : nil
      return length_s if length_s&.positive? && length_s <= LONGEST_S

      said = words.join(" ")
      raise DriverContract.bad_job("`#{said}` has no length of a slice: a number of seconds above 0, a year at most")
    end

    private

    def read
      @unread << $stdin.readpartial(65_536)
    rescue EOFError
      raise LaboratoryGone
    end
  end
end
