# The work: operations on one connection, one after the other, each timed.
package DriverContract::Worker;
use v5.36;
no warnings 'experimental::builtin';

use DriverContract::Clock qw(now_ns);
use DriverContract::Failure qw(is_failure);
use DriverContract::Histogram;
use DriverContract::Laboratory;
use DriverContract::Statement;
use Digest::MD5 qw(md5);
use builtin qw(created_as_number);

# That many failures in a row end the job (contract/README.md).
use constant FAILURES_IN_A_ROW => 100;

use constant SIGN_NS => 1_000_000_000;

sub new ($class, $job, $driver) {
    srand unpack 'N', md5($job->{seed});
    my $self = bless {
        job => $job, driver => $driver, settings => $driver->settings($job), opened => 0, fatal => undef,
        session => undef, fresh => 1, wanted_samples => $job->changes_data ? 0 : $job->{row_samples}, failures => 0,
    }, $class;
    $self->begin(undef);
    return $self;
}

# A span of work begins, its tally empty: that many operations are to be started, undef for as many as the time allows.
sub begin ($self, $operations) {
    $self->{left} = $operations;
    $self->{ended} = defined $self->{fatal};
    $self->{tally} = {
        started => 0, operations => 0, latency_sum_ns => 0, last_answer_ns => 0, connections => 0, error_count => 0,
        histograms => {}, errors => {}, samples => [],
    };
}

# A connection. Dies of a Failure.
sub open ($self) {
    my $session = eval { $self->{driver}->connect($self->{settings}) } // die $self->failure($@);
    ++$self->{opened};
    ++$self->{tally}{connections};
    $self->{fresh} = 1;
    return $session;
}

# Say what the job wants to be said on every connection.
sub greet ($self, $session) {
    $session->say($_) for @{ $self->{job}{on_connect} };
}

# Work on this connection from now on.
sub keep ($self, $session) {
    $self->{session} = $session;
}

# What it died of just now, in the contract's words.
sub failure ($self, $error) {
    return is_failure($error) ? $error : $self->{driver}->failure($error, $self->{job}{password});
}

# Do operations until then, or until there are no more, or the job has failed; `sign` is called once a second.
sub work ($self, $until_ns, $sign) {
    my $next_sign_ns = now_ns() + SIGN_NS;
    while (!$self->{ended} && (!defined $self->{left} || $self->{left} > 0)) {
        my $now_ns = now_ns();
        last if $now_ns >= $until_ns;
        if ($now_ns >= $next_sign_ns) {
            $sign->();
            $next_sign_ns = $now_ns + SIGN_NS;
        }
        my $calls = $self->_drawn // last;
        --$self->{left} if defined $self->{left};
        ++$self->{tally}{started};
        if (eval { $self->{job}{reconnect} ? $self->_reconnecting($calls) : $self->_keeping($calls); 1 }) {
            ++$self->{tally}{operations};
            $self->{failures} = 0;
        } else {
            $self->{tally}{last_answer_ns} = now_ns();
            $self->_failed($self->failure($@));
        }
    }
}

# Hang up on the kept connection, whether or not it is of use.
sub drop ($self) {
    my $session = delete $self->{session};
    eval { $session->close } if defined $session;
}

# All that an operation says; undef where a sequence has run out, which ends the window.
sub _drawn ($self) {
    my @calls;
    my $are_drawn = eval {
        for my $statement (@{ $self->{job}{statements} }) {
            push @calls, [$statement, $statement->draw] for 1 .. $statement->{repeat};
        }
        1;
    };
    return \@calls if $are_drawn;
    die $@ unless $@ eq DriverContract::Statement::EXHAUSTED . "\n";
    $self->{ended} = 1;
    return undef;
}

sub _keeping ($self, $calls) {
    my $begun_ns = now_ns();
    if (!defined $self->{session}) {
        $self->{session} = $self->open;
        $self->greet($self->{session});
    }
    $self->_say($self->{session}, $calls);
    $self->_done($begun_ns, now_ns());
}

sub _reconnecting ($self, $calls) {
    my $begun_ns = now_ns();
    my $session = $self->{session} = $self->open;
    my $connected_ns = now_ns();
    $self->greet($session);
    $self->_say($session, $calls);
    my $said_ns = now_ns();
    delete $self->{session};
    $session->close;
    undef $session;
    my $ended_ns = now_ns();
    $self->_note(connect => $connected_ns - $begun_ns);
    $self->_note(close => $ended_ns - $said_ns);
    $self->_done($begun_ns, $ended_ns);
}

sub _done ($self, $begun_ns, $ended_ns) {
    $self->_note(operation => $ended_ns - $begun_ns);
    $self->{tally}{latency_sum_ns} += $ended_ns - $begun_ns;
    $self->{tally}{last_answer_ns} = $ended_ns;
}

sub _note ($self, $phase, $latency_ns) {
    ($self->{tally}{histograms}{$phase} //= DriverContract::Histogram->new)->record($latency_ns);
}

sub _say ($self, $session, $calls) {
    my $samples = $self->{tally}{samples};
    for my $call (@$calls) {
        my ($statement, $values) = @$call;
        my $begun_ns = now_ns();
        my $rows = $statement->{prepared}
            ? $session->run_prepared($statement->{marked}, $values, \&created_as_number)
            : $session->say($statement->literal_with($values));
        $self->_note($self->{fresh} ? 'first_query' : 'query', now_ns() - $begun_ns);
        $self->{fresh} = 0;
        if (defined $rows && @$samples < $self->{wanted_samples}) {
            my @shown = map { [map { $session->shown($_) } @$_] } @$rows;
            push @$samples, { sql => $statement->literal_with($values), rows => \@shown };
        }
    }
}

# Count a failure and leave the connection fit for the next operation.
sub _failed ($self, $failure) {
    ++$self->{tally}{error_count};
    my $known = join ' ', $failure->{kind}, $failure->{number} // '';
    $self->{tally}{errors}{$known} //= { kind => $failure->{kind}, code => $failure->{number}, count => 0 };
    ++$self->{tally}{errors}{$known}{count};
    $self->drop if $failure->{lost} || $self->{job}{reconnect};
    if ($failure->{kind} =~ /^(?:bad_job|internal)$/ || ++$self->{failures} >= FAILURES_IN_A_ROW) {
        $self->{fatal} = $failure;
        $self->{ended} = 1;
    }
}

1;
