<?php // What went wrong, as a kind of the contract's, from whatever a driver raised or warned of.

declare(strict_types=1);

namespace Adapter;

/** Numbers by which a login fails: the server's, and CR_AUTH_PLUGIN_CANNOT_LOAD and its like (errmsg.h). */
const LOGIN_REFUSED = [1044, 1045, 1130, 1251, 1698, 2049, 2054, 2059, 2061];

const CR_CONNECTION_ERROR = 2002;
const CR_SERVER_GONE_ERROR = 2006;
const CR_CANT_READ_CHARSET = 2019;
const ER_CON_COUNT_ERROR = 1040;

/** A failure, whose message is the driver's words, or the adapter's own. */
final class Failure extends \Exception
{
    public function __construct(
        public readonly string $kind,
        string $words,
        public readonly int|string|null $number = null,
        private readonly string $by = 'driver',
    ) {
        parent::__construct($words);
    }

    /** Whether the connection is of no more use. */
    public function isLost(): bool
    {
        return $this->kind !== 'server_error';
    }

    /** What is answered to the host. */
    public function answer(): array
    {
        return ['failure' => [
            'kind' => $this->kind, 'words' => $this->getMessage(), 'code' => $this->number, 'by' => $this->by,
        ]];
    }
}

/** The job asks for what this driver cannot do. */
function badJob(string $words): Failure
{
    return new Failure('bad_job', $words, by: 'adapter');
}

/** The warnings that PHP gave since they were last asked for: a TLS failure has its cause in them alone. */
final class Warnings
{
    private static array $said = [];

    /** Keep what PHP would print. */
    public static function collect(): void
    {
        set_error_handler(static function (int $level, string $words): bool {
            self::$said[] = $words;
            return true;
        });
    }

    /** What was said since the last time, as one text. */
    public static function take(): string
    {
        [$said, self::$said] = [self::$said, []];
        return implode(' ', $said);
    }
}

/** What a driver raised while it connected, with TLS in this mode, or later. */
function failureOf(\Throwable $error, bool $opening = false, string $tls = 'unset'): Failure
{
    $warnings = Warnings::take();
    if ($error instanceof Failure) {
        return $error;
    }
    $words = $error->getMessage();
    if ($error instanceof \PDOException && defined('PGSQL_LIBPQ_VERSION')) {
        return failureOfPostgres($words, $error->errorInfo[0] ?? null);
    }
    $number = numberOf($error);
    if ($warnings !== '' && !str_contains($warnings, $words)) {
        $words .= " ($warnings)";
    }
    $kind = kindOf($error, $number, $words, $opening, $tls === 'on' || $tls === 'required');
    if ($kind === 'no_tls') {
        $words = trim($words) . ', as it does where TLS is asked for and the server has none';
    }
    return new Failure($kind, $words, $number);
}

function numberOf(\Throwable $error): ?int
{
    $number = $error instanceof \PDOException ? ($error->errorInfo[1] ?? 0) : $error->getCode();
    return is_int($number) && $number > 0 ? $number : null;
}

function kindOf(\Throwable $error, ?int $number, string $words, bool $opening, bool $wantsTls): string
{
    if (!$error instanceof \mysqli_sql_exception && !$error instanceof \PDOException) {
        // A TypeError or a ValueError is PHP's own refusal of what it was given.
        return $opening && $error instanceof \Error ? 'bad_job' : 'internal';
    }
    if ($number === CR_SERVER_GONE_ERROR && $opening && $wantsTls && !str_contains($words, 'greeting packet')) {
        return 'no_tls';
    }
    return match (true) {
        $opening && $number === CR_CANT_READ_CHARSET => 'bad_job',
        str_contains($words, 'Packets out of order') => 'not_mysql',
        $opening && in_array($number, LOGIN_REFUSED, true) => 'access_denied',
        $number === ER_CON_COUNT_ERROR => 'limits',
        $number === CR_CONNECTION_ERROR => kindOfUnreachable($words),
        in_array($number, [2006, 2013, 2014, 2055], true) => 'server_closed',
        in_array($number, [2007, 2012, 2027], true) => 'not_mysql',
        $number !== null && ($number < 2000 || $number >= 3000) => 'server_error',
        default => $opening ? 'access_denied' : 'internal',
    };
}

/** mysqlnd has one number for whatever keeps it from a server, and its words. */
function kindOfUnreachable(string $words): string
{
    return match (true) {
        stripos($words, 'certificate') !== false, stripos($words, 'peer') !== false => 'certificate',
        stripos($words, 'ssl') !== false => 'tls_handshake',
        stripos($words, 'getaddrinfo') !== false => 'resolve',
        stripos($words, 'timed out') !== false => 'timeout',
        default => 'connect',
    };
}
