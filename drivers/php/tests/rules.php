<?php // The rules that need no server: options, values, failures, and the orders over a driver that has none.

declare(strict_types=1);

namespace Adapter;

require __DIR__ . '/../program/failure.php';
require __DIR__ . '/../program/adapter.php';

function holds(string $what, bool $is): void
{
    if (!$is) {
        fwrite(STDERR, "does not hold: $what\n");
        exit(1);
    }
}

/** A driver without a server, which notes what it is asked for. */
final class Notebook implements Driver, Session
{
    public array $notes = [];

    public function connect(): Session
    {
        $this->notes[] = 'connect';
        return $this;
    }

    public function version(): string
    {
        return '1.0';
    }

    public function marked(array $pieces): string
    {
        return implode('?', $pieces);
    }

    public function say(string $sql): array
    {
        $this->notes[] = $sql;
        return $sql === 'wrong' ? throw new \mysqli_sql_exception('Unknown column', 1054) : [[1, null, 1.5]];
    }

    public function prepare(string $sql): object
    {
        $this->notes[] = "prepare $sql";
        return (object) ['sql' => $sql];
    }

    public function run(object $statement, string $types, array $values): array
    {
        $this->notes[] = [$statement->sql, ...$values];
        return [];
    }

    public function close(): void
    {
        $this->notes[] = 'close';
    }
}

/** What is answered to these orders, and what the driver was asked for. */
function answered(bool $reconnect, string $orders): array
{
    $call = static fn (array $pieces, string $types) => (object) [
        'pieces' => $pieces, 'types' => $types, 'prepared' => $pieces !== [''],
    ];
    $setup = (object) [
        'calls' => [$call(['a=', ' b=', ''], 'is'), $call([''], '')], 'on_connect' => ['hello'],
        'reconnect' => $reconnect, 'tls' => (object) ['mode' => 'off'],
    ];
    [$in, $out] = [fopen('php://memory', 'w+'), fopen('php://memory', 'w+')];
    fwrite($in, $orders);
    rewind($in);
    (new Channel($driver = new Notebook(), $setup, $in, $out))->serve();
    rewind($out);
    return [explode("\n", stream_get_contents($out)), $driver->notes];
}

$farNs = PHP_INT_MAX;
$operation = "7\x1Fit's\x1Ftext";
$body = strlen($operation) . "\n$operation";
[$lines, $notes] = answered(false, "open\nrows -1 4\nask?operations 1 {$body}work $farNs\nwork 1\nreport\nclose\noperations 1 {$body}empty\nwork $farNs\n");
holds('orders without reconnecting', $notes === [
    'connect', 'hello', 'prepare a=? b=?', 'ask?', ['a=? b=?', 7, "it's"], 'text', 'close',
]);
holds('rows', $lines[1] === '{"rows":[["1",null,"1.5"]]}');
holds('one is done, then none is left', array_slice($lines, 2, 3) === ['{}', '{"operations":1}', '{"operations":0}']);
holds('none is left of a stock that was emptied', array_slice($lines, -2) === ['{"operations":0}', '']);
$times = array_map(intval(...), explode(' ', $lines[6]));
holds('as many bytes as are said', $lines[5] === '{"opened":1,"bytes":' . (strlen($lines[6]) + 1) . '}');
$isSorted = $times === array_values(array_filter($times)) && $times[3] <= $times[4];
holds('six times', count($times) === 6 && $isSorted && $times[0] === $times[2] && $times[4] === $times[5]);

$wrong = "7\x1Fx\x1Fwrong";
[$lines, $notes] = answered(true, 'operations 1 ' . strlen($wrong) . "\n{$wrong}work $farNs\nreport\noperations 1 {$body}work $farNs\n");
holds('a failure', str_contains($lines[1], '"kind":"server_error"') && str_contains($lines[1], '"code":1054'));
holds('its times are dropped', $lines[2] === '{"opened":1,"bytes":0}');
holds('closed each time', array_count_values(array_filter($notes, is_string(...)))['close'] === 2);
holds('and done again', $lines[4] === '{"operations":1}');

holds('options', array_map(optionOf(...), ['true', 'FALSE', '10', 'utf8']) === [true, false, 10, 'utf8']);
$shown = shown([[1e30, 1.5, 2.0, 1.5e-9]]);
holds('a float as the server writes it', $shown === [['1e30', '1.5', '2', '1.5e-9']]);

$kind = static fn (string $words, int $number, bool $opening = true, string $tls = 'unset') => failureOf(
    new \mysqli_sql_exception($words, $number),
    $opening,
    $tls,
);
holds('access denied', $kind('Access denied', 1045)->kind === 'access_denied');
holds('an error of the server', $kind('Unknown column', 1054, false)->kind === 'server_error');
holds('that keeps the connection', !$kind('Unknown column', 1054, false)->isLost());
holds('no TLS', $kind('MySQL server has gone away', 2006, true, 'required')->kind === 'no_tls');
holds('gone', $kind('MySQL server has gone away', 2006, false, 'required')->kind === 'server_closed');
holds('a certificate', $kind('SSL routines::certificate verify failed', 2002)->kind === 'certificate');
holds('refused', $kind('Connection refused', 2002)->kind === 'connect');
