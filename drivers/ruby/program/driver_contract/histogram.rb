# Latencies counted in HdrHistogram's buckets, and its V2 encoding (DEFLATE, base64).
# frozen_string_literal: true

require "zlib"

module DriverContract
  # A histogram of three significant digits up to an hour, in nanoseconds. Ruby has no HdrHistogram, so its documented V2
  # format is written here: a header, and the counts as ZigZag LEB128 numbers, of which a negative one stands for that
  # many zeros.
  class Histogram
    HALF_MAGNITUDE = 10
    HALF_COUNT = 1 << HALF_MAGNITUDE
    HIGHEST_NS = 3_600_000_000_000
    COOKIE_V2 = 0x1c849313
    COOKIE_V2_COMPRESSED = 0x1c849314

    def initialize
      @counts = Hash.new(0)
    end

    # Count a value in nanoseconds.
    def record(value_ns)
      value = value_ns > HIGHEST_NS ? HIGHEST_NS : value_ns
      bucket = (value >> (HALF_MAGNITUDE + 1)).bit_length
      @counts[((bucket + 1) << HALF_MAGNITUDE) + (value >> bucket) - HALF_COUNT] += 1
    end

    # Count what another one counted.
    def add(other) = other.each_count { |place, count| @counts[place] += count }

    # Each bucket's place and count.
    def each_count(&) = @counts.each(&)

    # The histogram in HdrHistogram's V2 format, compressed, as base64.
    def encoded
      body, following = String.new(encoding: "BINARY"), 0
      @counts.sort.each do |place, count|
        zeros = place - following
        body << zigzag(zeros == 1 ? 0 : -zeros) if zeros.positive?
        body << zigzag(count)
        following = place + 1
      end
      plain = [COOKIE_V2, body.bytesize, 0, 3, 1, HIGHEST_NS, 1.0].pack("NNNNQ>Q>G") + body
      packed = Zlib.deflate(plain)
      [[COOKIE_V2_COMPRESSED, packed.bytesize].pack("NN") + packed].pack("m0")
    end

    private

    def zigzag(number)
      left, bytes = (number << 1) ^ (number.negative? ? -1 : 0), []
      while left > 0x7f
        bytes << (left & 0x7f | 0x80)
        left >>= 7
      end
      [*bytes, left].pack("C*")
    end
  end
end
