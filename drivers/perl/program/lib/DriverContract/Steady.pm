# When a warm-up has done its work: CPU time per operation no longer falls.
package DriverContract::Steady;
use v5.36;

use Exporter 'import';

our @EXPORT_OK = qw(is_steady WARMUP_SLICE_S);

use constant { WARMUP_SLICE_S => 0.1, COMPARED => 5, NEVER => 9**9**9 };

# The later median of CPU per operation, as a part of the earlier one (contract/README.md).
use constant STEADY_AT_LEAST => 0.95;

# Whether the last five slices cost at least 0.95 of what the five before them did, per operation.
sub is_steady (@slices) {
    return 0 if @slices < 2 * COMPARED;
    my @costs = map { $_->{operations} ? $_->{cpu_us} / $_->{operations} : NEVER } @slices[-2 * COMPARED .. -1];
    my ($before, $after) = (_median(@costs[0 .. COMPARED - 1]), _median(@costs[COMPARED .. $#costs]));
    return $after < NEVER && $after >= STEADY_AT_LEAST * $before;
}

sub _median (@values) {
    return (sort { $a <=> $b } @values)[@values / 2];
}

1;
