<?php // What was done in each slice and in all of them, in the contract's words.

declare(strict_types=1);

namespace DriverContract;

/** CPU time of the process in microseconds, as the kernel has it. */
function cpuUs(): array
{
    $used = getrusage();
    $user = $used['ru_utime.tv_sec'] * 1e6 + $used['ru_utime.tv_usec'];
    $system = $used['ru_stime.tv_sec'] * 1e6 + $used['ru_stime.tv_usec'];
    return ['total_us' => $user + $system, 'user_us' => $user, 'system_us' => $system];
}

/** Connections opened; handshakes and ways of logging in are not counted. */
function countsOf(int $connections): array
{
    return ['connections' => $connections, 'handshakes' => [], 'authentications' => new \stdClass()];
}

/** All slices, one after the other: opened at `go`, closed when the worker has done with it. */
final class Window
{
    private float $elapsedS = 0.0;
    private array $cpu = ['total_us' => 0.0, 'user_us' => 0.0, 'system_us' => 0.0];
    private array $cpuBefore = [];
    private int $begunNs = 0;
    private array $before;
    private array $reported;

    public function __construct(private readonly Worker $worker)
    {
        $this->before = $this->reported = $this->counted();
    }

    /** Whether a slice was closed. */
    public function hasSlices(): bool
    {
        return $this->elapsedS > 0;
    }

    /** A slice begins; when, by the monotonic clock in nanoseconds. */
    public function openSlice(): int
    {
        $this->begunNs = hrtime(true);
        $this->cpuBefore = cpuUs();
        $this->before = $this->reported = $this->counted();
        return $this->begunNs;
    }

    /** The contract's `slice` event for what was done since it was opened. */
    public function closeSlice(float $lengthS): array
    {
        $now = $this->counted();
        $lastNs = $this->worker->tally->lastAnswerNs;
        $elapsedS = $lastNs > $this->begunNs ? ($lastNs - $this->begunNs) / 1e9 : $lengthS;
        $this->elapsedS += $elapsedS;
        $cpu = [];
        foreach (cpuUs() as $share => $us) {
            $cpu[$share] = $us - $this->cpuBefore[$share];
            $this->cpu[$share] += $cpu[$share];
        }
        return [
            'event' => 'slice', 'elapsed_s' => $elapsedS,
            'operations' => $now['operations'] - $this->before['operations'],
            'latency_sum_s' => ($now['latency_sum_ns'] - $this->before['latency_sum_ns']) / 1e9,
            'cpu_us' => $cpu['total_us'],
            'counts' => countsOf($now['connections'] - $this->before['connections']),
        ];
    }

    /** The contract's `interval` event: what was done since the last one, or since the slice began. */
    public function interval(): array
    {
        [$before, $this->reported] = [$this->reported, $this->counted()];
        return [
            'event' => 'interval', 'elapsed_s' => (hrtime(true) - $this->begunNs) / 1e9,
            'operations' => $this->reported['operations'] - $before['operations'],
            'errors' => $this->reported['errors'] - $before['errors'],
        ];
    }

    /** The contract's `done` event. */
    public function done(): array
    {
        $tally = $this->worker->tally;
        return [
            'event' => 'done', 'elapsed_s' => $this->elapsedS, 'operations' => $tally->operations,
            'scheduled' => $tally->started, 'skipped' => 0,
            'window' => countsOf($tally->connections), 'lifetime' => countsOf($this->worker->opened),
            'histograms_ns' => (object) array_map(static fn (Histogram $each) => $each->encoded(), $tally->histograms),
            'cpu' => $this->cpu, 'wire' => null, 'errors' => array_values($tally->errors),
            'row_samples' => array_map(self::sample(...), $tally->samples),
        ];
    }

    private function counted(): array
    {
        $tally = $this->worker->tally;
        return [
            'operations' => $tally->operations, 'latency_sum_ns' => $tally->latencySumNs,
            'connections' => $tally->connections, 'errors' => $tally->errorCount,
        ];
    }

    private static function sample(array $sample): array
    {
        [$sql, $rows] = $sample;
        $shown = static fn (array $row) => array_map(shown(...), $row);
        return ['sql' => $sql, 'rows' => array_map($shown, $rows)];
    }
}

/** A value as the text protocol has it. */
function shown(mixed $value): ?string
{
    return match (true) {
        $value === null => null,
        is_float($value) => str_replace(['.0E', 'E+', 'E'], ['E', 'e', 'e'], (string) $value),
        default => (string) $value,
    };
}
