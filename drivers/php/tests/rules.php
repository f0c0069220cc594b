<?php // The rules that need no server: statements, sequences, steady warm-ups, failures, lines; then a histogram of what it is given.

declare(strict_types=1);

namespace DriverContract;

foreach (['failure', 'fields', 'statements', 'job', 'histogram', 'steady', 'laboratory', 'driver', 'worker', 'window']
    as $part) {
    require __DIR__ . "/../program/$part.php";
}

function holds(string $what, bool $is): void
{
    if (!$is) {
        fwrite(STDERR, "does not hold: $what\n");
        exit(1);
    }
}

/** The kind of the failure that this throws; null where it throws none. */
function refusal(\Closure $made): ?string
{
    try {
        $made();
    } catch (Failure $failure) {
        return $failure->kind;
    }
    return null;
}

function slices(float ...$costs): array
{
    return array_map(
        static fn (float $cost) => ['elapsed_s' => 0.1, 'operations' => 100, 'cpu_us' => 100 * $cost],
        $costs,
    );
}

function jobWith(array $changes): Job
{
    return jobOf(json_encode([
        'schema' => 2, 'endpoint' => ['kind' => 'tcp', 'host' => 'h', 'port' => 1],
        'account' => ['user' => 'u', 'password' => 'p'], 'tls' => ['mode' => 'off'],
        'workload' => ['statements' => [['sql' => 'SELECT 1']]], 'connections' => 1, 'duration_s' => 1, 'seed' => 1,
        ...$changes,
    ]));
}

$random = new \Random\Randomizer(new \Random\Engine\Xoshiro256StarStar(1));
$parameters = [
    'high' => ['kind' => 'offset', 'of' => 'id', 'by' => 9], 'id' => ['kind' => 'uniform_int', 'low' => 5, 'high' => 5],
    'word' => ['kind' => 'one_of', 'values' => ["it's"]], 'code' => ['kind' => 'digits', 'template' => '##-a-####'],
];
$sql = "SELECT '{{?}}' WHERE a BETWEEN {id} AND {high} AND w = {word} AND c = {code}";
$statement = statementOf(json_decode(json_encode(['sql' => $sql, 'parameters' => $parameters])), 'text');
$values = $statement->draw($random);
holds('values in the order of the placeholders', array_slice($values, 0, 3) === [5, 14, "it's"]);
holds('a digit for each mark', preg_match('/^\d\d-a-\d{4}$/', $values[3]) === 1);
holds('literals', str_starts_with(
    $statement->literal($values),
    "SELECT '{?}' WHERE a BETWEEN 5 AND 14 AND w = 'it''s' AND c = '",
));
holds('a backslash in hexadecimal', literal('a\\') === '_utf8mb4 0x615c');

$sequence = ['sql' => '{id}', 'parameters' => ['id' => ['kind' => 'sequence', 'first' => 1, 'last' => 2]]];
$statement = statementOf(json_decode(json_encode($sequence)), 'text');
$given = [$statement->draw($random), $statement->draw($random)];
try {
    $given[] = $statement->draw($random);
} catch (Exhausted) {
    $given[] = 'exhausted';
}
holds('a sequence gives each number once', $given === [[1], [2], 'exhausted']);
foreach (['SELECT {id}', 'SELECT {', 'SELECT }'] as $sql) {
    holds("a bad job: $sql", refusal(static fn () => statementOf((object) ['sql' => $sql], 'text')) === 'bad_job');
}

holds('nine slices are too few', !isSteady(slices(...array_fill(0, 9, 10))));
holds('ten alike are steady', isSteady(slices(...array_fill(0, 10, 10))));
holds('falling costs are not', !isSteady(slices(...array_fill(0, 5, 10), ...array_fill(0, 5, 9.4))));
holds('nearly alike are', isSteady(slices(...array_fill(0, 5, 10), ...array_fill(0, 5, 9.6))));

holds('a job', refusal(static fn () => jobWith([])) === null);
$bad = [
    'two connections' => ['connections' => 2], 'another schema' => ['schema' => 1], 'an unknown field' => ['new' => 1],
    'a reset' => ['reset' => ['DELETE']], 'groups' => ['tls' => ['mode' => 'on', 'groups' => 'X25519']],
    'more than required' => ['tls' => ['mode' => 'required', 'verify' => 'ca']],
    'a batch' => ['driver' => ['batch' => 2]], 'an open loop' => ['schedule' => ['mode' => 'open', 'rate_per_s' => 1]],
];
foreach ($bad as $what => $changes) {
    holds("a bad job: $what", refusal(static fn () => jobWith($changes)) === 'bad_job');
}
holds('options', array_map(optionOf(...), ['true', 'FALSE', '10', 'utf8']) === [true, false, 10, 'utf8']);
$tls = jobWith(['tls' => ['mode' => 'on', 'min_version' => '1.2', 'max_version' => '1.2']])->tls;
holds('a version that is asked for', $tls->allows('TLSv1.2') && !$tls->allows('TLSv1.3') && !$tls->allows('TLSv1.1'));

foreach (['go', 'go 0', 'go -1', 'go nan', 'go inf', 'go 1 2', 'go 4e7'] as $line) {
    holds("a bad line: $line", refusal(static fn () => sliceLengthS(explode(' ', $line))) === 'bad_job');
}
holds('a year is the longest slice', sliceLengthS(['go', '31557600']) === 31557600.0);

$kind = static fn (string $words, int $number, bool $opening = true, bool $tls = false) => failureOf(
    new \mysqli_sql_exception($words, $number),
    'A driver',
    'geheim',
    $opening,
    $tls,
);
holds('access denied', $kind('Access denied for geheim', 1045)->kind === 'access_denied');
holds('without the password', !str_contains($kind('Access denied for geheim', 1045)->getMessage(), 'geheim'));
holds('an error of the server', $kind('Unknown column', 1054, false)->kind === 'server_error');
holds('that keeps the connection', !$kind('Unknown column', 1054, false)->lost);
holds('no TLS', $kind('MySQL server has gone away', 2006, true, true)->kind === 'no_tls');
holds('gone', $kind('MySQL server has gone away', 2006, false, true)->kind === 'server_closed');
holds('a certificate', $kind('SSL routines::certificate verify failed', 2002)->kind === 'certificate');
holds('refused', $kind('Connection refused', 2002)->kind === 'connect');
holds('a float as the server writes it', [shown(1e30), shown(1.5), shown(2.0), shown(1.5e-9)] === ['1e30', '1.5', '2', '1.5e-9']);

$histogram = new Histogram();
foreach (explode(' ', stream_get_contents(STDIN)) as $valueNs) {
    $histogram->record((int) $valueNs);
}
echo $histogram->encoded(), "\n";
