# The process's clocks: the monotonic one in nanoseconds, and the CPU time that was used.
package DriverContract::Clock;
use v5.36;

use Exporter 'import';
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC CLOCK_PROCESS_CPUTIME_ID);

our @EXPORT_OK = qw(now_ns cpu_us);

# The monotonic clock in nanoseconds.
sub now_ns () {
    return int(1e9 * clock_gettime(CLOCK_MONOTONIC));
}

# CPU time: in all by a nanosecond clock, and its user and system parts, which the kernel tells in ticks.
sub cpu_us () {
    my ($user_s, $system_s) = times;
    return { total_us => 1e6 * clock_gettime(CLOCK_PROCESS_CPUTIME_ID), user_s => $user_s, system_s => $system_s };
}

1;
