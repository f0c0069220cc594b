<?php // mysqli on mysqlnd, by its objects: real_connect, query and prepare.

declare(strict_types=1);

namespace DriverContract;

function driver(): Driver
{
    mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
    return new MysqliDriver();
}

/** `mysqli_init`, its options by their constants' names, and `real_connect`. */
final class MysqliDriver implements Driver
{
    /** Words for the arguments of `ssl_set`, in their order. */
    private const SSL_SET = ['ssl_key', 'ssl_cert', 'ssl_ca', 'ssl_capath', 'ssl_cipher'];

    public function title(): string
    {
        return 'mysqli';
    }

    public function version(): string
    {
        return PHP_VERSION . ' (' . mysqli_get_client_info() . ')';
    }

    /** Where to and as whom; flags, options by number, and what is given to `ssl_set`. */
    public function settings(Job $job): array
    {
        $settings = [
            'endpoint' => [$job->host, $job->user, $job->password, $job->database, $job->port, $job->socketPath],
            'options' => [], ...self::tls($job->tls),
        ];
        foreach ($job->options as $name => $word) {
            $settings = self::with($settings, $name, $word);
        }
        return $settings;
    }

    public function connect(array $settings): Session
    {
        $connection = mysqli_init();
        foreach ($settings['options'] as $number => $word) {
            $connection->options($number, $word);
        }
        if (array_filter($settings['ssl'])) {
            $connection->ssl_set(...array_map(static fn (string $name) => $settings['ssl'][$name] ?? null, self::SSL_SET));
        }
        $connection->real_connect(...[...$settings['endpoint'], $settings['flags']]);
        return new MysqliSession($connection);
    }

    private static function tls(Tls $tls): array
    {
        if ($tls->mode === 'unset' || $tls->mode === 'off') {
            return ['flags' => 0, 'ssl' => []];
        }
        if ($tls->mode === 'required') {
            return ['flags' => MYSQLI_CLIENT_SSL, 'ssl' => []];
        }
        $checks = $tls->verify === 'none'
            ? MYSQLI_CLIENT_SSL_DONT_VERIFY_SERVER_CERT
            : MYSQLI_CLIENT_SSL_VERIFY_SERVER_CERT;
        $files = ['ssl_key' => $tls->keyFile, 'ssl_cert' => $tls->certificateFile, 'ssl_ca' => $tls->caFile];
        return ['flags' => MYSQLI_CLIENT_SSL | $checks, 'ssl' => $files];
    }

    private static function with(array $settings, string $name, bool|int|string $word): array
    {
        if (in_array($name, self::SSL_SET, true)) {
            $settings['ssl'][$name] = (string) $word;
        } elseif (preg_match('/^MYSQLI_CLIENT_[A-Z_]+$/', $name) && defined($name)) {
            $settings['flags'] = $word ? $settings['flags'] | constant($name) : $settings['flags'] & ~constant($name);
        } elseif (preg_match('/^MYSQLI_(OPT_[A-Z_]+|INIT_COMMAND|SET_CHARSET_NAME|SERVER_PUBLIC_KEY)$/', $name)
            && defined($name)) {
            $settings['options'][constant($name)] = is_bool($word) ? (int) $word : $word;
        } else {
            throw badJob("mysqli has no option $name: it takes MYSQLI_OPT_… and MYSQLI_CLIENT_… by their names");
        }
        return $settings;
    }
}

/** A connection of mysqli's, with the statements that are prepared on it. */
final class MysqliSession implements Session
{
    /** @var array<string, \mysqli_stmt> */
    private array $prepared = [];

    public function __construct(private readonly \mysqli $connection)
    {
    }

    public function say(string $sql): ?array
    {
        $result = $this->connection->query($sql);
        return $result === true ? null : $result->fetch_all(MYSQLI_NUM);
    }

    public function runPrepared(string $sql, array $values): ?array
    {
        $statement = $this->prepared[$sql] ??= $this->connection->prepare($sql);
        if ($values) {
            $types = '';
            foreach ($values as $value) {
                $types .= is_int($value) ? 'i' : 's';
            }
            $statement->bind_param($types, ...$values);
        }
        $statement->execute();
        $result = $statement->get_result();
        return $result === false ? null : $result->fetch_all(MYSQLI_NUM);
    }

    public function close(): void
    {
        $this->prepared = [];
        $this->connection->close();
    }
}
