<?php // The work: operations on one connection, one after the other, each timed.

declare(strict_types=1);

namespace DriverContract;

use Random\Engine\Xoshiro256StarStar;
use Random\Randomizer;

/** That many failures in a row end the job (contract/README.md). */
const FAILURES_IN_A_ROW = 100;

const SIGN_NS = 1_000_000_000;

/** What was done in a span of time; latencies in nanoseconds. */
final class Tally
{
    public int $started = 0;
    public int $operations = 0;
    public int $latencySumNs = 0;
    public int $lastAnswerNs = 0;
    public int $connections = 0;
    public int $errorCount = 0;
    /** @var array<string, Histogram> by phase */
    public array $histograms = [];
    /** @var array<string, array{kind: string, code: ?int, count: int}> */
    public array $errors = [];
    public array $samples = [];

    /** Count a latency of a phase. */
    public function note(string $phase, int $latencyNs): void
    {
        ($this->histograms[$phase] ??= new Histogram())->record($latencyNs);
    }
}

/** One connection's operations. */
final class Worker
{
    public Tally $tally;
    public int $opened = 0;
    public ?Failure $fatal = null;
    private ?Session $session = null;
    private bool $fresh = true;
    private readonly Randomizer $random;
    private readonly int $wantedSamples;
    private ?int $left = null;
    private bool $ended = false;
    private int $failures = 0;

    public function __construct(
        private readonly Job $job,
        private readonly Driver $driver,
        private readonly array $settings,
    ) {
        $this->random = new Randomizer(new Xoshiro256StarStar(hash('sha256', (string) $job->seed, true)));
        $this->wantedSamples = $job->changesData() ? 0 : $job->rowSamples;
        $this->tally = new Tally();
    }

    /** A span of work begins: that many operations are to be started, null for as many as the time allows. */
    public function begin(?int $operations): void
    {
        $this->left = $operations;
        $this->ended = $this->fatal !== null;
        $this->tally = new Tally();
    }

    /** Whether a sequence has run out, or the job has failed. */
    public function hasEnded(): bool
    {
        return $this->ended;
    }

    /** A connection. Throws Failure. */
    public function open(): Session
    {
        try {
            $session = $this->driver->connect($this->settings);
        } catch (\Throwable $error) {
            throw $this->failure($error, true);
        }
        ++$this->opened;
        ++$this->tally->connections;
        $this->fresh = true;
        return $session;
    }

    /** Say what the job wants to be said on every connection. */
    public function greet(Session $session): void
    {
        foreach ($this->job->onConnect as $sql) {
            $session->say($sql);
        }
    }

    /** Work on this connection from now on. */
    public function keep(Session $session): void
    {
        $this->session = $session;
    }

    /** What the driver threw, in the contract's words. */
    public function failure(\Throwable $error, bool $opening = false): Failure
    {
        $wanted = $this->job->tls->wanted();
        return failureOf($error, $this->driver->title(), $this->job->password, $opening, $wanted);
    }

    /**
     * Do operations until then (hrtime), or until there are no more, or the job has failed.
     *
     * @param \Closure(): void $sign called once a second between operations
     */
    public function work(int $untilNs, \Closure $sign): void
    {
        $nextSignNs = hrtime(true) + SIGN_NS;
        while (!$this->ended && $this->left !== 0 && ($nowNs = hrtime(true)) < $untilNs) {
            if ($nowNs >= $nextSignNs) {
                $sign();
                $nextSignNs = $nowNs + SIGN_NS;
            }
            try {
                $calls = $this->drawn();
            } catch (Exhausted) {
                $this->ended = true;
                return;
            }
            if ($this->left !== null) {
                --$this->left;
            }
            ++$this->tally->started;
            $this->tried($calls);
        }
    }

    /** Hang up on the kept connection. */
    public function close(): void
    {
        $this->drop();
    }

    private function tried(array $calls): void
    {
        try {
            if ($this->job->reconnect) {
                $this->reconnecting($calls);
            } else {
                $this->keeping($calls);
            }
            ++$this->tally->operations;
            $this->failures = 0;
        } catch (LaboratoryGone $gone) {
            throw $gone;
        } catch (\Throwable $error) {
            $this->tally->lastAnswerNs = hrtime(true);
            $this->failed($this->failure($error));
        }
    }

    /** All that an operation says. Throws Exhausted. */
    private function drawn(): array
    {
        $calls = [];
        foreach ($this->job->statements as $statement) {
            for ($run = 0; $run < $statement->repeat; ++$run) {
                $calls[] = [$statement, $statement->draw($this->random)];
            }
        }
        return $calls;
    }

    private function keeping(array $calls): void
    {
        $begunNs = hrtime(true);
        if ($this->session === null) {
            $this->session = $this->open();
            $this->greet($this->session);
        }
        $this->sayAll($this->session, $calls);
        $this->done($begunNs, hrtime(true));
    }

    private function reconnecting(array $calls): void
    {
        $begunNs = hrtime(true);
        $session = $this->session = $this->open();
        $connectedNs = hrtime(true);
        $this->greet($session);
        $this->sayAll($session, $calls);
        $saidNs = hrtime(true);
        $this->session = null;
        $session->close();
        $endedNs = hrtime(true);
        $this->tally->note('connect', $connectedNs - $begunNs);
        $this->tally->note('close', $endedNs - $saidNs);
        $this->done($begunNs, $endedNs);
    }

    private function done(int $begunNs, int $endedNs): void
    {
        $this->tally->note('operation', $endedNs - $begunNs);
        $this->tally->latencySumNs += $endedNs - $begunNs;
        $this->tally->lastAnswerNs = $endedNs;
    }

    private function sayAll(Session $session, array $calls): void
    {
        foreach ($calls as [$statement, $values]) {
            $begunNs = hrtime(true);
            $rows = $statement->prepared
                ? $session->runPrepared($statement->marked(), $values)
                : $session->say($statement->literal($values));
            $this->tally->note($this->fresh ? 'first_query' : 'query', hrtime(true) - $begunNs);
            $this->fresh = false;
            if ($rows !== null && count($this->tally->samples) < $this->wantedSamples) {
                $this->tally->samples[] = [$statement->literal($values), $rows];
            }
        }
    }

    /** Count a failure and leave the connection fit for the next operation. */
    private function failed(Failure $failure): void
    {
        ++$this->tally->errorCount;
        $known = "{$failure->kind} {$failure->number}";
        $this->tally->errors[$known] ??= ['kind' => $failure->kind, 'code' => $failure->number, 'count' => 0];
        ++$this->tally->errors[$known]['count'];
        if ($failure->lost || $this->job->reconnect) {
            $this->drop();
        }
        $isOurs = $failure->kind === 'bad_job' || $failure->kind === 'internal';
        if ($isOurs || ++$this->failures >= FAILURES_IN_A_ROW) {
            $this->fatal = $failure;
            $this->ended = true;
        }
    }

    private function drop(): void
    {
        try {
            $this->session?->close();
        } catch (\Throwable) {
            // It is of no more use, and how it ends does not matter.
        }
        $this->session = null;
    }
}
