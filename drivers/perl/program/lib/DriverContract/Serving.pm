# One job from beginning to end: set up, warm up, `ready`, a slice for each `go`, `end`, `done`.
package DriverContract::Serving;
use v5.36;

use DriverContract::Clock qw(cpu_us now_ns);
use DriverContract::Failure qw(bad_job is_failure);
use DriverContract::Job;
use DriverContract::Laboratory;
use DriverContract::Proof qw(tls_library);
use DriverContract::Steady qw(is_steady WARMUP_SLICE_S);
use DriverContract::Window;
use DriverContract::Worker;
use Exporter 'import';
use JSON::PP ();

our @EXPORT_OK = qw(served);

# Serve one job; the exit status is 0 after `done`.
sub served ($name, $driver, $laboratory) {
    return 0 if eval { _serve($name, $driver, $laboratory); 1 };
    my $error = $@;
    return 1 if $error eq DriverContract::Laboratory::GONE;
    if (!is_failure($error)) {
        my $words = $error =~ s/\s+/ /gr;
        $error = DriverContract::Failure->new(kind => 'internal', message => "$name stopped: $words");
    }
    binmode STDERR, ':utf8';
    print {*STDERR} "$error->{message}\n";
    eval { $laboratory->say($error->event) };
    return 1;
}

sub _serve ($name, $driver, $laboratory) {
    my $job = DriverContract::Job->new($laboratory->line);
    $laboratory->sign("limit $job->{timeout_s}");
    _take_the_machines_part($job);
    my $worker = DriverContract::Worker->new($job, $driver);
    $laboratory->sign('busy');
    my ($proof, $version) = _set_up($job, $driver, $worker);
    my ($slices, $steady) = _warm_up($job, $worker, $laboratory);
    $worker->begin($job->{operations});
    my $window = DriverContract::Window->new($worker);
    $laboratory->sign('idle');
    $laboratory->say({
        event => 'ready', client => $name, client_version => $version, pid => $$,
        server_version => $proof->{server_version}, tls_library => tls_library(),
        negotiated => $proof->{negotiated}, warmup => $slices, steady => $steady,
    });
    _measure($worker, $window, $laboratory);
    $laboratory->wait_for_end;
    $worker->drop;
}

# Run on the processors that the job names, and let the runtime trust whom it says.
sub _take_the_machines_part ($job) {
    if (my $list = join ',', @{ $job->{cpus} }) {
        my $said = qx(taskset -cp $list $$ 2>&1);
        die bad_job("cpus: this machine does not let us run on $list") if $?;
    }
    if (defined(my $file = $job->{tls}{trusted_ca_file})) {
        @ENV{qw(SSL_CERT_FILE SSL_CERT_DIR)} = ($file, '/dev/null');
    }
}

# Open the connection and ask what was negotiated, and which version answers; with `reconnect` it is closed again.
sub _set_up ($job, $driver, $worker) {
    my ($proof, $session) = (DriverContract::Proof->new, $worker->open);
    my $is_encrypted = eval {
        $worker->greet($session);
        $proof->ask($session) ? 1 : 0;
    } // die $worker->failure($@);
    if ($job->wants_tls && !$is_encrypted) {
        my $words = $driver->title . ' logged in in the clear, though TLS was asked for';
        die DriverContract::Failure->new(kind => 'no_tls', message => $words);
    }
    my $version = $driver->version($session);
    if ($job->{reconnect}) {
        $session->close;
    } else {
        $worker->keep($session);
    }
    return ($proof, $version);
}

# The job's work, until it is steady where that is looked for: its slices, and whether it was.
sub _warm_up ($job, $worker, $laboratory) {
    if (!$job->{steady_within_s}) {
        _warm_slice($job->{warmup_s}, $worker, $laboratory) if $job->{warmup_s};
        return ([], undef);
    }
    my ($begun_ns, @slices) = (now_ns());
    until (is_steady(@slices) || $worker->{ended}) {
        return (\@slices, JSON::PP::false) if @slices && $slices[-1]{elapsed_s} >= $job->{steady_within_s};
        my $before = cpu_us();
        my $operations = _warm_slice(WARMUP_SLICE_S, $worker, $laboratory);
        my $used_us = cpu_us()->{total_us} - $before->{total_us};
        push @slices, { elapsed_s => (now_ns() - $begun_ns) / 1e9, operations => $operations, cpu_us => $used_us };
        $laboratory->sign('alive');
    }
    return (\@slices, is_steady(@slices) ? JSON::PP::true : JSON::PP::false);
}

# Work without keeping anything but the number of operations that succeeded. Dies of a Failure.
sub _warm_slice ($span_s, $worker, $laboratory) {
    $worker->begin(undef);
    $worker->work(now_ns() + $span_s * 1e9, sub { $laboratory->sign('alive') });
    die $worker->{fatal} if defined $worker->{fatal};
    return $worker->{tally}{operations};
}

# A slice for each `go`, and `done` at `end`. Dies of a Failure.
sub _measure ($worker, $window, $laboratory) {
    my $sign = sub {
        $laboratory->sign('alive');
        $laboratory->say($window->interval);
    };
    while (defined(my $length_s = $laboratory->next_slice_s)) {
        my $until_ns = $window->open_slice + $length_s * 1e9;
        $laboratory->sign('busy');
        $worker->work($until_ns, $sign);
        $laboratory->sign('idle');
        die $worker->{fatal} if defined $worker->{fatal};
        $laboratory->say($window->close_slice($length_s));
    }
    die bad_job('`end` came before the first `go`: nothing was measured') unless $window->has_slices;
    $laboratory->say($window->done);
}

1;
