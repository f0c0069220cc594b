<?php // The process that watches the worker: a driver that hangs cannot be interrupted from within.

declare(strict_types=1);

namespace DriverContract;

/** How often a worker at work gives a sign of life. */
const SIGN_S = 1.0;

/** How long a worker that has nothing to do may take to hang up. */
const GRACE_S = 1.0;

const SAID_WHY = 1;

/**
 * Work in a child process, and watch it: hand on what the laboratory says, end it when the server stays silent
 * for longer than the job allows or the laboratory is gone. The exit status is the worker's.
 */
function servedByWatchedWorker(string $name, Driver $driver): int
{
    [$ownLines, $lines] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    [$life, $ownLife] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $worker = pcntl_fork();
    if ($worker === -1) {
        fwrite(STDOUT, json_encode((new Failure('limits', 'no process can be started for the driver'))->event()) . "\n");
        return SAID_WHY;
    }
    if ($worker === 0) {
        fclose($lines);
        fclose($life);
        fclose(STDIN);
        return served($name, $driver, new Laboratory($ownLines, $ownLife));
    }
    fclose($ownLines);
    fclose($ownLife);
    return (new Watch($name, $worker, $lines, $life))->end();
}

/** The watch over one worker. */
final class Watch
{
    private string $unread = '';
    private float $limitS = INF;
    private bool $busy = false;
    private int $lastSignNs = 0;
    private bool $left = false;

    /**
     * @param resource $lines
     * @param resource $life
     */
    public function __construct(private string $name, private int $worker, private $lines, private $life)
    {
    }

    /** Watch until the worker has ended; the exit status of the program. */
    public function end(): int
    {
        while (true) {
            $readable = $this->left ? [$this->life] : [$this->life, STDIN];
            $none = null;
            $waits = $this->busy || $this->left;
            stream_select($readable, $none, $none, $waits ? 0 : null, $waits ? 200_000 : null);
            if (in_array($this->life, $readable, true) && !$this->hear()) {
                return $this->ended();
            }
            if (in_array(STDIN, $readable, true) && !$this->handOn()) {
                $this->leave();
            }
            if ($this->busy && $this->silentS() > $this->limitS + SIGN_S) {
                return $this->timedOut();
            }
            if ($this->left && $this->silentS() > GRACE_S) {
                $this->kill();
                return SAID_WHY;
            }
        }
    }

    /** Take signs of life; whether the worker is still there. */
    private function hear(): bool
    {
        $part = fread($this->life, 8192);
        if ($part === '' || $part === false) {
            return false;
        }
        $this->lastSignNs = hrtime(true);
        $lines = explode("\n", $this->unread . $part);
        $this->unread = array_pop($lines);
        foreach ($lines as $line) {
            match (true) {
                $line === 'busy' => $this->busy = true,
                $line === 'idle' => $this->busy = false,
                str_starts_with($line, 'limit ') => $this->limitS = (float) substr($line, 6),
                default => null,
            };
        }
        return true;
    }

    /** Hand on what the laboratory says; whether it is still there. */
    private function handOn(): bool
    {
        $part = fread(STDIN, 65536);
        if ($part === '' || $part === false) {
            return false;
        }
        @fwrite($this->lines, $part);
        return true;
    }

    /** The laboratory is gone: a worker that waits for it hears so, one that waits for the server is ended. */
    private function leave(): void
    {
        $this->left = true;
        stream_socket_shutdown($this->lines, STREAM_SHUT_WR);
        if ($this->busy) {
            posix_kill($this->worker, SIGKILL);
        }
        $this->lastSignNs = hrtime(true);
    }

    private function silentS(): float
    {
        return (hrtime(true) - $this->lastSignNs) / 1e9;
    }

    private function kill(): void
    {
        posix_kill($this->worker, SIGKILL);
        pcntl_waitpid($this->worker, $status);
    }

    private function timedOut(): int
    {
        $this->kill();
        return $this->say(new Failure('timeout', "the server has not answered within {$this->limitS} s"));
    }

    /** The worker's exit status; where it ended without a word, that is said for it. */
    private function ended(): int
    {
        pcntl_waitpid($this->worker, $status);
        if ($this->left && pcntl_wifsignaled($status)) {
            return SAID_WHY;
        }
        if (pcntl_wifexited($status) && pcntl_wexitstatus($status) <= SAID_WHY) {
            return pcntl_wexitstatus($status);
        }
        $how = pcntl_wifsignaled($status) ? 'signal ' . pcntl_wtermsig($status) : 'status ' . pcntl_wexitstatus($status);
        return $this->say(new Failure('internal', "{$this->name} ended by $how"));
    }

    private function say(Failure $failure): int
    {
        fwrite(STDERR, $failure->getMessage() . "\n");
        @fwrite(STDOUT, json_encode($failure->event()) . "\n");
        return SAID_WHY;
    }
}
