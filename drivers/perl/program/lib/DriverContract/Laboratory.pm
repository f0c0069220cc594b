# The worker's end of the conversation: lines come from the watching process, events go to the laboratory.
package DriverContract::Laboratory;
use v5.36;

use DriverContract::Failure qw(bad_job);
use Exporter 'import';
use JSON::PP ();

our @EXPORT_OK = qw(slice_length_s GONE);

# No time is longer than a year (contract/README.md).
use constant LONGEST_S => 365.25 * 86400;

# What is died of when standard input has ended: stop at once.
use constant GONE => "the laboratory is gone\n";

my $JSON = JSON::PP->new->utf8->canonical;

# `life` is where the worker says to the watching process that it is at work.
sub new ($class, $lines, $life) {
    $_->autoflush(1) for $life, \*STDOUT;
    return bless { lines => $lines, life => $life }, $class;
}

# The next line. Dies of GONE.
sub line ($self) {
    my $line = readline $self->{lines};
    die GONE unless defined $line;
    return $line =~ s/^\s+|\s+$//gr;
}

# How long the next slice is to last; undef where there is to be none. Other lines mean nothing.
sub next_slice_s ($self) {
    while (1) {
        my @words = split ' ', $self->line;
        return undef if @words == 1 && $words[0] eq 'end';
        return slice_length_s(@words) if @words && $words[0] eq 'go';
    }
}

# Return when standard input has ended.
sub wait_for_end ($self) {
    eval { $self->line while 1; 1 } or $@ eq GONE or die $@;
}

# Write an event. Dies of GONE where nobody reads it.
sub say ($self, $event) {
    print {*STDOUT} $JSON->encode($event), "\n" or die GONE;
}

# Say to the watching process: `limit SECONDS`, `busy`, `alive` or `idle`.
sub sign ($self, $sign) {
    print { $self->{life} } "$sign\n" or die GONE;
}

# What stands behind `go`: one number of seconds. Dies of a Failure (bad_job).
sub slice_length_s (@words) {
    my $is_number = @words == 2 && $words[1] =~ /^[0-9.]+(?:e[-+]?[0-9]+)?$/i;
    return 0 + $words[1] if $is_number && $words[1] > 0 && $words[1] <= LONGEST_S;
    die bad_job("`@words` has no length of a slice: a number of seconds above 0, a year at most");
}

1;
