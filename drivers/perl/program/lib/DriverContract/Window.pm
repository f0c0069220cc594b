# What was done in each slice and in all of them, in the contract's words.
package DriverContract::Window;
use v5.36;

use DriverContract::Clock qw(cpu_us now_ns);

# All slices of this worker, one after the other: opened at `go`, closed when it has done with it.
sub new ($class, $worker) {
    my $self = bless { worker => $worker, elapsed_s => 0, cpu => { total_us => 0, user_s => 0, system_s => 0 } }, $class;
    $self->{before} = $self->{reported} = $self->_counted;
    return $self;
}

# Whether a slice was closed.
sub has_slices ($self) {
    return $self->{elapsed_s} > 0;
}

# A slice begins; when, by the monotonic clock in nanoseconds.
sub open_slice ($self) {
    $self->{begun_ns} = now_ns();
    $self->{cpu_before} = cpu_us();
    $self->{before} = $self->{reported} = $self->_counted;
    return $self->{begun_ns};
}

# The contract's `slice` event for what was done since it was opened, which was to last that long.
sub close_slice ($self, $length_s) {
    my ($now, $before) = ($self->_counted, $self->{before});
    my $took_ns = $self->{worker}{tally}{last_answer_ns} - $self->{begun_ns};
    my $elapsed_s = $took_ns > 0 ? $took_ns / 1e9 : $length_s;
    $self->{elapsed_s} += $elapsed_s;
    my $cpu = cpu_us();
    for my $share (keys %$cpu) {
        $cpu->{$share} -= $self->{cpu_before}{$share};
        $self->{cpu}{$share} += $cpu->{$share};
    }
    return {
        event => 'slice', elapsed_s => $elapsed_s, operations => $now->{operations} - $before->{operations},
        latency_sum_s => ($now->{latency_sum_ns} - $before->{latency_sum_ns}) / 1e9, cpu_us => $cpu->{total_us},
        counts => _counts($now->{connections} - $before->{connections}),
    };
}

# The contract's `interval` event: what was done since the last one, or since the slice began.
sub interval ($self) {
    my ($before, $now) = ($self->{reported}, $self->_counted);
    $self->{reported} = $now;
    return {
        event => 'interval', elapsed_s => (now_ns() - $self->{begun_ns}) / 1e9,
        operations => $now->{operations} - $before->{operations}, errors => $now->{error_count} - $before->{error_count},
    };
}

# The contract's `done` event.
sub done ($self) {
    my $tally = $self->{worker}{tally};
    my %histograms = %{ $tally->{histograms} };
    return {
        event => 'done', elapsed_s => $self->{elapsed_s}, operations => $tally->{operations},
        scheduled => $tally->{started}, skipped => 0, window => _counts($tally->{connections}),
        lifetime => _counts($self->{worker}{opened}), wire => undef, cpu => $self->_cpu,
        histograms_ns => { map { $_ => $histograms{$_}->encoded } keys %histograms },
        errors => [values %{ $tally->{errors} }], row_samples => $tally->{samples},
    };
}

# The kernel counts user and system time in ticks: their shares of the exact total.
sub _cpu ($self) {
    my ($total_us, $user_s, $system_s) = @{ $self->{cpu} }{qw(total_us user_s system_s)};
    # The share first: it is one at the most, and so nothing below zero is left.
    my $user_us = $user_s + $system_s > 0 ? $total_us * ($user_s / ($user_s + $system_s)) : $total_us;
    return { total_us => $total_us, user_us => $user_us, system_us => $total_us - $user_us };
}

sub _counted ($self) {
    my $tally = $self->{worker}{tally};
    return { map { $_ => $tally->{$_} } qw(operations latency_sum_ns connections error_count) };
}

# Connections opened; handshakes and ways of logging in are not counted.
sub _counts ($connections) {
    return { connections => $connections, handshakes => [], authentications => {} };
}

1;
