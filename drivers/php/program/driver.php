<?php // What an adapter has to say of its driver; each file of adapters/ returns one by the function `driver`.

declare(strict_types=1);

namespace DriverContract;

/** One driver, thin: how it connects, and how it asks. */
interface Driver
{
    /** What the driver is called in messages. */
    public function title(): string;

    /** What the driver says its version is. */
    public function version(): string;

    /** What a connection is made with, from the job and its options. Throws Failure (bad_job). */
    public function settings(Job $job): array;

    /** An open connection. Throws what the driver throws. */
    public function connect(array $settings): Session;
}

/** A connection that is open. */
interface Session
{
    /** Run this text; the rows that came back, null where the statement has none. */
    public function say(string $sql): ?array;

    /** Run this statement, with `?` for each value, by the driver's call for prepared ones; the rows. */
    public function runPrepared(string $sql, array $values): ?array;

    /** Hang up as the driver does. */
    public function close(): void;
}
