<?php // The adapter of PHP's drivers (drivers/ADAPTERS.md): `run` serves the job that stands on standard input.

declare(strict_types=1);

namespace Adapter;

require __DIR__ . '/failure.php';
require __DIR__ . '/adapter.php';

/** Serve the job; the exit status. */
function served(): int
{
    Warnings::collect();
    try {
        $setup = json_decode(fgets(STDIN), flags: JSON_THROW_ON_ERROR);
        if (count($setup->channels) !== 1) {
            throw badJob('connections: a process of PHP has one connection at work, so this driver keeps one');
        }
        // The driver's name without its version, as drivers.toml has it.
        require __DIR__ . '/' . preg_replace('/-[0-9.]+$/', '', $setup->name) . '.php';
        $driver = driver($setup);
    } catch (\Throwable $error) {
        say(STDOUT, failureOf($error)->answer());
        return 1;
    }
    say(STDOUT, ['takes' => []]);
    [[$in, $out]] = $setup->channels;
    (new Channel($driver, $setup, fopen("php://fd/$in", 'rb'), fopen("php://fd/$out", 'wb')))->serve();
    return 0;
}

error_reporting(E_ALL);
ini_set('display_errors', 'stderr');
// As php.ini has it for the command line: a long slice's stock and times take more than the 128 MB that are PHP's default.
ini_set('memory_limit', '-1');
exit(served());
