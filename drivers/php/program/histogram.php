<?php // Latencies counted in HdrHistogram's buckets, and its V2 encoding (DEFLATE, base64).

declare(strict_types=1);

namespace DriverContract;

/**
 * A histogram of three significant digits up to an hour, in nanoseconds. PHP has no HdrHistogram, so its documented
 * V2 format is written here: a header, and the counts as ZigZag LEB128 numbers, of which a negative one stands for
 * that many zeros.
 */
final class Histogram
{
    private const HALF_MAGNITUDE = 10;
    private const HALF_COUNT = 1 << self::HALF_MAGNITUDE;
    private const HIGHEST_NS = 3_600_000_000_000;
    private const COOKIE_V2 = 0x1c849313;
    private const COOKIE_V2_COMPRESSED = 0x1c849314;

    /** @var array<int, int> counts by the place of their bucket; those without a count are left out */
    private array $counts = [];

    /** Count a value in nanoseconds. */
    public function record(int $valueNs): void
    {
        $value = $valueNs > self::HIGHEST_NS ? self::HIGHEST_NS : $valueNs;
        $bucket = 0;
        for ($rest = $value >> (self::HALF_MAGNITUDE + 1); $rest > 0; $rest >>= 1) {
            ++$bucket;
        }
        $place = (($bucket + 1) << self::HALF_MAGNITUDE) + ($value >> $bucket) - self::HALF_COUNT;
        $this->counts[$place] = ($this->counts[$place] ?? 0) + 1;
    }

    /** The histogram in HdrHistogram's V2 format, compressed, as base64. */
    public function encoded(): string
    {
        $counts = $this->counts;
        ksort($counts);
        $body = '';
        $next = 0;
        foreach ($counts as $place => $count) {
            $zeros = $place - $next;
            $body .= match ($zeros) {
                0 => '',
                1 => self::zigzag(0),
                default => self::zigzag(-$zeros),
            };
            $body .= self::zigzag($count);
            $next = $place + 1;
        }
        $header = pack('NNNNJJE', self::COOKIE_V2, strlen($body), 0, 3, 1, self::HIGHEST_NS, 1.0);
        $packed = gzcompress($header . $body);
        return base64_encode(pack('NN', self::COOKIE_V2_COMPRESSED, strlen($packed)) . $packed);
    }

    private static function zigzag(int $number): string
    {
        $left = ($number << 1) ^ ($number >> 63);
        $bytes = '';
        for (; $left > 0x7f; $left >>= 7) {
            $bytes .= chr($left & 0x7f | 0x80);
        }
        return $bytes . chr($left);
    }
}
