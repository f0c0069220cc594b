# The process that watches the worker: a driver that hangs cannot be interrupted from within.
package DriverContract::Watch;
use v5.36;

use DriverContract::Clock qw(now_ns);
use DriverContract::Failure;
use DriverContract::Laboratory;
use DriverContract::Serving qw(served);
use Exporter 'import';
use IO::Select;
use JSON::PP ();
use POSIX qw(WIFEXITED WEXITSTATUS WIFSIGNALED WTERMSIG);
use Socket;

our @EXPORT_OK = qw(served_by_watched_worker);

# A worker at work gives a sign of life once in `SIGN_S`; one that has nothing to do may take `GRACE_S` to hang up.
use constant { SIGN_S => 1, GRACE_S => 1, LOOK_S => 0.2, SAID_WHY => 1, NEVER => 9**9**9 };

# Work in a child process, and watch it: hand on what the laboratory says, end it when the server stays silent for longer
# than the job allows or the laboratory is gone. The exit status is the worker's.
sub served_by_watched_worker ($name, $driver) {
    $SIG{PIPE} = 'IGNORE';
    socketpair my $own_lines, my $lines, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die "no pair of sockets: $!\n";
    socketpair my $life, my $own_life, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die "no pair of sockets: $!\n";
    my $worker = fork // die "no process can be started: $!\n";
    if (!$worker) {
        close $_ for $lines, $life, \*STDIN;
        return served($name, $driver, DriverContract::Laboratory->new($own_lines, $own_life));
    }
    close $_ for $own_lines, $own_life;
    my $self = bless {
        name => $name, worker => $worker, lines => $lines, life => $life, unread => '', limit_s => NEVER,
        busy => 0, left => 0, last_sign_ns => now_ns(),
    };
    return $self->_end;
}

# Watch until the worker has ended; the exit status of the program.
sub _end ($self) {
    my $input = IO::Select->new($self->{life}, \*STDIN);
    while (1) {
        my @readable = $input->can_read($self->{busy} || $self->{left} ? LOOK_S : undef);
        for my $one (@readable) {
            if ($one == $self->{life}) {
                return $self->_ended unless $self->_hear;
            } elsif (!$self->_hand_on) {
                $input->remove(\*STDIN);
                $self->_leave;
            }
        }
        my $silent_s = (now_ns() - $self->{last_sign_ns}) / 1e9;
        return $self->_timed_out if $self->{busy} && $silent_s > $self->{limit_s} + SIGN_S;
        if ($self->{left} && $silent_s > GRACE_S) {
            $self->_kill;
            return SAID_WHY;
        }
    }
}

# Take signs of life; whether the worker is still there.
sub _hear ($self) {
    sysread($self->{life}, $self->{unread}, 8192, length $self->{unread}) or return 0;
    $self->{last_sign_ns} = now_ns();
    while ($self->{unread} =~ s/^(.*)\n//) {
        my $sign = $1;
        $self->{busy} = 1 if $sign eq 'busy';
        $self->{busy} = 0 if $sign eq 'idle';
        $self->{limit_s} = $1 if $sign =~ /^limit (.+)/;
    }
    return 1;
}

# Hand on what the laboratory says; whether it is still there.
sub _hand_on ($self) {
    sysread(STDIN, my $part, 65536) or return 0;
    while (length $part) {
        my $written = syswrite($self->{lines}, $part) // last;
        substr $part, 0, $written, '';
    }
    return 1;
}

# The laboratory is gone: a worker that waits for it hears so, one that waits for the server is ended.
sub _leave ($self) {
    $self->{left} = 1;
    shutdown $self->{lines}, SHUT_WR;
    kill KILL => $self->{worker} if $self->{busy};
    $self->{last_sign_ns} = now_ns();
}

sub _kill ($self) {
    kill KILL => $self->{worker};
    waitpid $self->{worker}, 0;
}

sub _timed_out ($self) {
    $self->_kill;
    return _say(kind => 'timeout', message => "the server has not answered within $self->{limit_s} s");
}

# The worker's exit status; where it ended without a word, that is said for it.
sub _ended ($self) {
    waitpid $self->{worker}, 0;
    my $status = $?;
    return SAID_WHY if $self->{left} && WIFSIGNALED($status);
    return WEXITSTATUS($status) if WIFEXITED($status) && WEXITSTATUS($status) <= SAID_WHY;
    my $how = WIFSIGNALED($status) ? 'signal ' . WTERMSIG($status) : 'status ' . WEXITSTATUS($status);
    return _say(kind => 'internal', message => "$self->{name} ended by $how");
}

sub _say (%told) {
    my $failure = DriverContract::Failure->new(%told);
    print {*STDERR} "$failure->{message}\n";
    syswrite STDOUT, JSON::PP->new->utf8->encode($failure->event) . "\n";
    return SAID_WHY;
}

1;
