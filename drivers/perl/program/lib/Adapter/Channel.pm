# The orders of drivers/ADAPTERS.md, done on the one connection that a process of Perl has at work.
package Adapter::Channel;
use v5.36;

use Adapter::Failure qw(failure_of);
use Exporter 'import';
use JSON::PP ();
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

our @EXPORT_OK = qw(send_line);

# `fields` are those of all operations of the stock, from `next_field` on.
sub new ($class, $driver, $setup, $in, $out) {
    my $types = sub ($call) { $call->{prepared} ? $call->{types} : 's' };
    my @calls = map {
        { sql => $driver->given(join '?', @{ $_->{pieces} }), prepared => $_->{prepared}, types => [split //, $types->($_)] }
    } @{ $setup->{calls} };
    return bless {
        driver => $driver, in => $in, out => $out, on_connect => [map { $driver->given($_) } @{ $setup->{on_connect} }],
        reconnect => $setup->{reconnect}, calls => \@calls, all_types => [map { @{ $_->{types} } } @calls],
        session => undef, opened => 0, stock => 0, fields => [], next_field => 0, times => [],
    }, $class;
}

# Answer every order until there are no more.
sub serve ($self) {
    my %orders = (
        open => sub { $self->_open },
        rows => sub ($call, $bytes) { $self->_rows($call, $self->_body($bytes)) },
        operations => sub ($count, $bytes) { $self->_add($count, $self->_body($bytes)) },
        empty => sub { $self->_empty },
        work => sub ($until_ns) { { operations => $self->_work($until_ns) } },
        report => sub { $self->_report },
        close => sub { $self->_close },
    );
    while (defined(my $line = readline $self->{in})) {
        my ($order, @words) = split ' ', $line;
        my @answer = eval { $orders{$order}->(@words) };
        @answer = $self->_failed($@) unless @answer;
        send_line($self->{out}, @answer);
    }
}

# Write a line of JSON, and a body behind it.
sub send_line ($out, $answer, $body = '') {
    my $rest = JSON::PP->new->utf8->encode($answer) . "\n" . $body;
    while (length $rest) {
        my $written = syswrite($out, $rest) // return;
        substr $rest, 0, $written, '';
    }
}

# The monotonic clock in nanoseconds.
sub _now_ns () {
    return int(1e9 * clock_gettime(CLOCK_MONOTONIC));
}

# The text behind an order, as the driver takes texts.
sub _body ($self, $bytes) {
    read $self->{in}, (my $body), $bytes;
    return $self->{driver}->given_bytes($body);
}

sub _open ($self) {
    $self->_connect;
    $self->_make_ready;
    return { version => $self->{session}->version };
}

sub _connect ($self) {
    $self->{session} = $self->{driver}->connect;
    ++$self->{opened};
}

# Say what is to be said on every connection, and prepare each statement once.
sub _make_ready ($self) {
    my $session = $self->{session};
    $session->say($_) for @{ $self->{on_connect} };
    $session->prepare($_->{sql}) for grep { $_->{prepared} } @{ $self->{calls} };
}

sub _rows ($self, $number, $body) {
    my $call = $self->{calls}[$number];
    my $rows = $number < 0
        ? $self->{session}->say($body)
        : $self->_call($call, _typed([split /\x1f/, $body, -1], $call->{types}));
    my $driver = $self->{driver};
    return { rows => [map { [map { $driver->shown($_) } @$_] } @$rows] };
}

sub _call ($self, $call, $fields) {
    return $call->{prepared}
        ? $self->{session}->run_prepared($call->{sql}, $call->{types}, $fields)
        : $self->{session}->say($fields->[0]);
}

sub _add ($self, $count, $body) {
    my $rest = $self->{fields};
    splice @$rest, 0, $self->{stock} > 0 ? $self->{next_field} : @$rest;
    $self->{next_field} = 0;
    push @$rest, @{ _typed([split /[\x1e\x1f]/, $body, -1], $self->{all_types}) };
    $self->{stock} += $count;
    return {};
}

sub _empty ($self) {
    @$self{qw(fields next_field stock)} = ([], 0, 0);
    return {};
}

# Fields with whole numbers as such, by types that repeat.
sub _typed ($fields, $types) {
    return $fields unless grep { $_ eq 'i' } @$types;
    for my $place (0 .. $#$fields) {
        $fields->[$place] += 0 if $types->[$place % @$types] eq 'i';
    }
    return $fields;
}

# Do operations of the stock until then; how many.
sub _work ($self, $until_ns) {
    my $done = 0;
    while ($self->{stock} > 0 && (my $now_ns = _now_ns()) < $until_ns) {
        --$self->{stock};
        push @{ $self->{times} }, $self->_operation($now_ns);
        ++$done;
    }
    return $done;
}

# When it began, was connected and ready, had each answer, and was closed.
sub _operation ($self, $begun_ns) {
    my $first = $self->{next_field};
    $self->{next_field} += @{ $self->{all_types} };
    my @times = ($begun_ns) x 3;
    if (!defined $self->{session}) {
        $self->_connect;
        $times[1] = _now_ns();
        $self->_make_ready;
        $times[2] = _now_ns();
    }
    for my $call (@{ $self->{calls} }) {
        my $behind = $first + @{ $call->{types} };
        $self->_call($call, [@{ $self->{fields} }[$first .. $behind - 1]]);
        push @times, _now_ns();
        $first = $behind;
    }
    $self->_close if $self->{reconnect};
    return @times, $self->{reconnect} ? _now_ns() : $times[-1];
}

sub _report ($self) {
    my $body = @{ $self->{times} } ? join(' ', @{ $self->{times} }) . "\n" : '';
    $self->{times} = [];
    return { opened => $self->{opened}, bytes => length $body }, $body;
}

sub _close ($self) {
    my $session = delete $self->{session};
    $session->close if defined $session;
    return {};
}

# Leave the connection fit for the next order; what is to be answered.
sub _failed ($self, $error) {
    my $failure = failure_of($error);
    eval { $self->_close } if $failure->is_lost || $self->{reconnect};
    return $failure->answer;
}

1;
