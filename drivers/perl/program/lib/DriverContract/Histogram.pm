# Latencies counted in HdrHistogram's buckets, and its V2 encoding (DEFLATE, base64).
package DriverContract::Histogram;
use v5.36;
use integer;

use Compress::Zlib ();
use MIME::Base64 qw(encode_base64);

# Three significant digits up to an hour, in nanoseconds. Perl has no HdrHistogram, so its documented V2 format is
# written here: a header, and the counts as ZigZag LEB128 numbers, of which a negative one stands for that many zeros.
use constant {
    HALF_MAGNITUDE => 10, HALF_COUNT => 1 << 10, HIGHEST_NS => 3_600_000_000_000,
    COOKIE_V2 => 0x1c849313, COOKIE_V2_COMPRESSED => 0x1c849314,
};

# The counts by the place of their bucket; those without a count are left out.
sub new ($class) {
    return bless {}, $class;
}

# Count a value in nanoseconds.
sub record ($self, $value) {
    $value = HIGHEST_NS if $value > HIGHEST_NS;
    my $bucket = 0;
    for (my $rest = $value >> (HALF_MAGNITUDE + 1); $rest > 0; $rest >>= 1) {
        ++$bucket;
    }
    ++$self->{ (($bucket + 1) << HALF_MAGNITUDE) + ($value >> $bucket) - HALF_COUNT };
}

# The histogram in HdrHistogram's V2 format, compressed, as base64.
sub encoded ($self) {
    my ($body, $next) = ('', 0);
    for my $place (sort { $a <=> $b } keys %$self) {
        my $zeros = $place - $next;
        $body .= _zigzag($zeros == 1 ? 0 : -$zeros) if $zeros;
        $body .= _zigzag($self->{$place});
        $next = $place + 1;
    }
    my $plain = pack('NNNNQ>Q>d>', COOKIE_V2, length $body, 0, 3, 1, HIGHEST_NS, 1) . $body;
    my $packed = Compress::Zlib::compress($plain);
    return encode_base64(pack('NN', COOKIE_V2_COMPRESSED, length $packed) . $packed, '');
}

sub _zigzag ($number) {
    my ($left, $bytes) = (($number << 1) ^ ($number < 0 ? -1 : 0), '');
    for (; $left > 0x7f; $left >>= 7) {
        $bytes .= chr($left & 0x7f | 0x80);
    }
    return $bytes . chr $left;
}

1;
