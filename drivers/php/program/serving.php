<?php // One job from beginning to end: set up, warm up, `ready`, a slice for each `go`, `end`, `done`.

declare(strict_types=1);

namespace DriverContract;

/** Serve one job; the exit status is 0 after `done`. */
function served(string $name, Driver $driver, Laboratory $laboratory): int
{
    Warnings::collect();
    try {
        serve($name, $driver, $laboratory);
        return 0;
    } catch (LaboratoryGone) {
        return SAID_WHY;
    } catch (Failure $failure) {
        return saidWhy($laboratory, $failure);
    } catch (\Throwable $error) {
        $words = trim(preg_replace('/\s+/', ' ', $error->getMessage()));
        return saidWhy($laboratory, new Failure('internal', "$name stopped: " . $error::class . ": $words"));
    }
}

function saidWhy(Laboratory $laboratory, Failure $failure): int
{
    fwrite(STDERR, $failure->getMessage() . "\n");
    try {
        $laboratory->say($failure->event());
    } catch (LaboratoryGone) {
        // Nobody is left to hear it.
    }
    return SAID_WHY;
}

function serve(string $name, Driver $driver, Laboratory $laboratory): void
{
    $job = jobOf($laboratory->line());
    $laboratory->sign("limit {$job->timeoutS}");
    takeTheMachinesPart($job);
    $worker = new Worker($job, $driver, $driver->settings($job));
    $laboratory->sign('busy');
    $proof = setUp($job, $driver, $worker);
    [$slices, $steady] = warmUp($job, $worker, $laboratory);
    $worker->begin($job->operations);
    $window = new Window($worker);
    $laboratory->sign('idle');
    $laboratory->say([
        'event' => 'ready', 'client' => $name, 'client_version' => $driver->version(), 'pid' => getmypid(),
        'server_version' => $proof->serverVersion, 'tls_library' => tlsLibrary(),
        'negotiated' => $proof->negotiated(), 'warmup' => $slices, 'steady' => $steady,
    ]);
    measure($worker, $window, $laboratory);
    $laboratory->waitForEnd();
    $worker->close();
}

/** Run on the processors that the job names, and let the runtime trust whom it says. */
function takeTheMachinesPart(Job $job): void
{
    if ($job->cpus) {
        $list = implode(',', $job->cpus);
        exec('taskset -cp ' . escapeshellarg($list) . ' ' . getmypid() . ' 2>&1', $said, $status);
        if ($status !== 0) {
            throw badJob("cpus: this machine does not let us run on $list");
        }
    }
    if ($job->tls->trustedCaFile !== null) {
        putenv("SSL_CERT_FILE={$job->tls->trustedCaFile}");
        putenv('SSL_CERT_DIR=/dev/null');
    }
}

/** Open the connection and ask what was negotiated; with `reconnect` it is closed again. */
function setUp(Job $job, Driver $driver, Worker $worker): Proof
{
    $proof = new Proof();
    $session = $worker->open();
    try {
        $worker->greet($session);
        $version = $proof->ask($session);
    } catch (\Throwable $error) {
        throw $worker->failure($error);
    }
    if ($job->tls->wanted() && $version === null) {
        throw new Failure('no_tls', "{$driver->title()} logged in in the clear, though TLS was asked for");
    }
    if ($version !== null && !$job->tls->allows($version)) {
        throw badJob("tls: {$driver->title()} takes no word on versions of TLS, and this connection has $version");
    }
    if ($job->reconnect) {
        $session->close();
    } else {
        $worker->keep($session);
    }
    return $proof;
}

/** The job's work, until it is steady where that is looked for: its slices, and whether it was. */
function warmUp(Job $job, Worker $worker, Laboratory $laboratory): array
{
    if (!$job->steadyWithinS) {
        if ($job->warmupS) {
            warmSlice($job->warmupS, $worker, $laboratory);
        }
        return [[], null];
    }
    $slices = [];
    $begunNs = hrtime(true);
    while (!isSteady($slices) && !$worker->hasEnded()) {
        if ($slices && end($slices)['elapsed_s'] >= $job->steadyWithinS) {
            return [$slices, false];
        }
        $before = cpuUs();
        $operations = warmSlice(WARMUP_SLICE_S, $worker, $laboratory);
        $slices[] = [
            'elapsed_s' => (hrtime(true) - $begunNs) / 1e9, 'operations' => $operations,
            'cpu_us' => cpuUs()['total_us'] - $before['total_us'],
        ];
        $laboratory->sign('alive');
    }
    return [$slices, isSteady($slices)];
}

/** Work without keeping anything but the number of operations that succeeded. Throws Failure. */
function warmSlice(float $spanS, Worker $worker, Laboratory $laboratory): int
{
    $worker->begin(null);
    $worker->work(hrtime(true) + (int) ($spanS * 1e9), static fn () => $laboratory->sign('alive'));
    if ($worker->fatal !== null) {
        throw $worker->fatal;
    }
    return $worker->tally->operations;
}

/** A slice for each `go`, and `done` at `end`. Throws Failure. */
function measure(Worker $worker, Window $window, Laboratory $laboratory): void
{
    $sign = static function () use ($laboratory, $window): void {
        $laboratory->sign('alive');
        $laboratory->say($window->interval());
    };
    while (($lengthS = $laboratory->nextSliceS()) !== null) {
        $untilNs = $window->openSlice() + (int) ($lengthS * 1e9);
        $laboratory->sign('busy');
        $worker->work($untilNs, $sign);
        $laboratory->sign('idle');
        if ($worker->fatal !== null) {
            throw $worker->fatal;
        }
        $laboratory->say($window->closeSlice($lengthS));
    }
    if (!$window->hasSlices()) {
        throw badJob('`end` came before the first `go`: nothing was measured');
    }
    $laboratory->say($window->done());
}
