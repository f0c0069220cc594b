<?php // The job as it is read from one line of JSON, checked at the door.

declare(strict_types=1);

namespace DriverContract;

const SCHEMA = 2;

/** TLS versions of the contract, lowest first. */
const TLS_VERSIONS = ['1.0', '1.1', '1.2', '1.3'];

/** What is to be said of TLS: mode `unset`, `required`, `off` or `on`, and for `on` how. */
final class Tls
{
    public function __construct(
        public readonly string $mode,
        public readonly ?string $trustedCaFile = null,
        public readonly string $minVersion = '1.0',
        public readonly string $maxVersion = '1.3',
        public readonly string $verify = 'none',
        public readonly ?string $caFile = null,
        public readonly ?string $certificateFile = null,
        public readonly ?string $keyFile = null,
    ) {
    }

    /** Whether a connection in the clear is none that the job asks for. */
    public function wanted(): bool
    {
        return $this->mode === 'on' || $this->mode === 'required';
    }

    /** Whether the job allows this version, named as the server names it (`TLSv1.3`). */
    public function allows(string $version): bool
    {
        $place = array_search(preg_replace('/^TLSv/', '', $version), TLS_VERSIONS, true);
        return $place === false
            || $place >= array_search($this->minVersion, TLS_VERSIONS, true)
            && $place <= array_search($this->maxVersion, TLS_VERSIONS, true);
    }
}

/** All that the driver is told. */
final class Job
{
    public ?string $host = null;
    public int $port = 3306;
    public ?string $socketPath = null;
    public string $user;
    public string $password;
    public ?string $database;
    public Tls $tls;
    public bool $reconnect;
    /** @var list<Statement> */
    public array $statements;
    /** @var list<string> */
    public array $onConnect;
    /** @var list<int> */
    public array $cpus;
    public float $warmupS;
    public float $durationS;
    public ?int $operations;
    public float $timeoutS;
    public int|float $seed;
    public int $rowSamples;
    /** @var array<string, bool|int|string> */
    public array $options;
    public float $steadyWithinS;

    /** Whether a statement is not a SELECT. */
    public function changesData(): bool
    {
        foreach ($this->statements as $statement) {
            if (!$statement->isSelect()) {
                return true;
            }
        }
        return false;
    }
}

/** The job in this line. Throws Failure (bad_job) with what is wrong with it. */
function jobOf(string $line): Job
{
    $fields = new Fields(json_decode($line), 'the job');
    $schema = $fields->take('schema', 'whole');
    if ($schema !== SCHEMA) {
        throw badJob("the job is of version $schema of the contract, and this client knows " . SCHEMA);
    }
    $job = new Job();
    takeEndpoint($job, new Fields($fields->take('endpoint', 'object'), 'endpoint'));
    takeAccount($job, new Fields($fields->take('account', 'object'), 'account'));
    $job->tls = tlsOf(new Fields($fields->take('tls', 'object'), 'tls'), $job->host);
    takeWorkload($job, $fields, new Fields($fields->take('workload', 'object'), 'workload'));
    takeDriver($job, new Fields($fields->maybe('driver', 'object', new \stdClass()), 'driver'));
    if ($fields->take('connections', 'whole') !== 1) {
        throw badJob('connections: a process of PHP has one connection at work, so this client keeps one');
    }
    $job->cpus = $fields->maybe('cpus', 'list', []);
    $job->warmupS = $fields->maybe('warmup_s', 'number', 0.1);
    $job->durationS = $fields->take('duration_s', 'number');
    $job->operations = $fields->maybe('operations', 'whole');
    $job->timeoutS = $fields->maybe('timeout_s', 'number', 10.0);
    $job->seed = $fields->take('seed', 'number');
    $job->rowSamples = $fields->maybe('row_samples', 'whole', 16);
    $fields->end();
    return $job;
}

function takeEndpoint(Job $job, Fields $fields): void
{
    $kind = $fields->take('kind', 'text');
    if ($kind === 'tcp') {
        $job->host = $fields->take('host', 'text');
        $job->port = $fields->take('port', 'whole');
    } elseif ($kind === 'unix') {
        $job->socketPath = $fields->take('path', 'text');
    } else {
        throw badJob("endpoint.kind is neither tcp nor unix: $kind");
    }
    $fields->end();
}

function takeAccount(Job $job, Fields $fields): void
{
    $job->user = $fields->take('user', 'text');
    $job->password = $fields->take('password', 'text');
    $job->database = $fields->maybe('database', 'text');
    $fields->end();
}

/** What only the engine does is a bad job here, unless it is left at what means nothing. */
function takeWorkload(Job $job, Fields $fields, Fields $work): void
{
    $schedule = $fields->maybe('schedule', 'object', (object) ['mode' => 'closed']);
    if (get_object_vars($schedule) !== ['mode' => 'closed']) {
        throw badJob('a driver works in a closed loop only');
    }
    $fields->refuse('reset', 'a driver does all operations in one go and puts no data back');
    $fields->ignore('rounds', 'threads', 'source_addresses', 'attributes');
    $work->refuse('mix', 'a driver runs statements, not a mix of transactions');
    $work->refuse('storm', 'a driver runs statements, not a storm');
    $protocol = $work->maybe('protocol', 'text', 'text');
    $job->reconnect = $work->maybe('reconnect', 'truth', false);
    $job->onConnect = $work->maybe('on_connect', 'list', []);
    $job->statements = [];
    foreach ($work->take('statements', 'list') as $document) {
        $job->statements[] = statementOf($document, $protocol);
    }
    $work->end();
}

function takeDriver(Job $job, Fields $fields): void
{
    $options = $fields->maybe('options', 'object', new \stdClass());
    $job->options = array_map(optionOf(...), get_object_vars($options));
    $job->steadyWithinS = $fields->maybe('steady_within_s', 'number', 0.0);
    if ($fields->maybe('batch', 'whole', 1) !== 1) {
        throw badJob('driver.batch: this driver has no call for many operations at once');
    }
    $fields->end();
}

/** An option's value: a truth or a whole number where it reads as one, anything else is text. */
function optionOf(string $word): bool|int|string
{
    return match (true) {
        strcasecmp($word, 'true') === 0 => true,
        strcasecmp($word, 'false') === 0 => false,
        preg_match('/^-?[0-9]{1,18}$/', $word) === 1 => (int) $word,
        default => $word,
    };
}

function tlsOf(Fields $fields, ?string $host): Tls
{
    $mode = $fields->take('mode', 'text');
    $tls = match ($mode) {
        'off' => new Tls('off'),
        'unset', 'required' => new Tls($mode, trustedCaFile: $fields->maybe('trusted_ca_file', 'text')),
        'on' => tlsThatIsOn($fields, $host),
        default => throw badJob("tls.mode is not one of unset, required, off and on: $mode"),
    };
    $fields->end();
    return $tls;
}

function tlsThatIsOn(Fields $fields, ?string $host): Tls
{
    foreach (['cipher_list', 'ciphersuites', 'groups', 'resumption', 'library', 'weak_dh', 'keylog_file'] as $name) {
        $fields->refuse($name, 'this driver cannot be told');
    }
    $serverName = $fields->maybe('server_name', 'text', $host);
    if ($serverName !== $host) {
        throw badJob('tls.server_name: this driver compares the certificate with the host it connects to');
    }
    return new Tls(
        'on',
        minVersion: versionOf($fields, 'min_version', '1.0'),
        maxVersion: versionOf($fields, 'max_version', '1.3'),
        verify: $fields->maybe('verify', 'text', 'none'),
        caFile: $fields->maybe('ca_file', 'text'),
        certificateFile: $fields->maybe('certificate_file', 'text'),
        keyFile: $fields->maybe('key_file', 'text'),
    );
}

function versionOf(Fields $fields, string $name, string $otherwise): string
{
    $version = $fields->maybe($name, 'text', $otherwise);
    if (!in_array($version, TLS_VERSIONS, true)) {
        throw badJob("tls.$name is none of " . implode(', ', TLS_VERSIONS) . ": $version");
    }
    return $version;
}
