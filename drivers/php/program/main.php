<?php // A PHP driver behind tlstax's contract: `run NAME` serves one job, in a process that another one watches.

declare(strict_types=1);

use function DriverContract\servedByWatchedWorker;

foreach (['failure', 'fields', 'statements', 'job', 'histogram', 'steady', 'laboratory', 'watch', 'driver', 'proof',
    'worker', 'window', 'serving'] as $part) {
    require __DIR__ . "/$part.php";
}

error_reporting(E_ALL);
ini_set('display_errors', 'stderr');
$name = $argv[1];
// The driver's name without its version, as drivers.toml has it.
$adapter = preg_replace('/-[0-9.]+$/', '', $name);
require __DIR__ . "/adapters/$adapter.php";
exit(servedByWatchedWorker($name, DriverContract\driver()));
