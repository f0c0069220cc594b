<?php // PDO's driver for MySQL on mysqlnd: a DSN, attributes, query and prepare.

declare(strict_types=1);

namespace DriverContract;

function driver(): Driver
{
    return new PdoDriver();
}

/** `new PDO` with a DSN and attributes by their constants' names. */
final class PdoDriver implements Driver
{
    /** Words of the DSN that are the user's own; where to is the job's. */
    private const DSN_WORDS = ['charset'];

    public function title(): string
    {
        return 'PDO';
    }

    public function version(): string
    {
        return PHP_VERSION . ' (' . mysqli_get_client_info() . ')';
    }

    /** The DSN, the account, and attributes by number. */
    public function settings(Job $job): array
    {
        $words = $job->socketPath === null
            ? ['host' => $job->host, 'port' => (string) $job->port]
            : ['unix_socket' => $job->socketPath];
        if ($job->database !== null) {
            $words['dbname'] = $job->database;
        }
        $attributes = self::tls($job->tls);
        foreach ($job->options as $name => $word) {
            if (in_array($name, self::DSN_WORDS, true)) {
                $words[$name] = (string) $word;
            } elseif (preg_match('/^(MYSQL_)?ATTR_[A-Z_]+$/', $name) && defined("PDO::$name")) {
                $attributes[constant("PDO::$name")] = $word;
            } else {
                throw badJob("PDO has no option $name: it takes ATTR_… and MYSQL_ATTR_… by their names, and charset");
            }
        }
        $pairs = array_map(static fn ($name, $word) => "$name=$word", array_keys($words), $words);
        return [
            'dsn' => 'mysql:' . implode(';', $pairs), 'user' => $job->user, 'password' => $job->password,
            'attributes' => $attributes,
        ];
    }

    public function connect(array $settings): Session
    {
        ['dsn' => $dsn, 'user' => $user, 'password' => $password, 'attributes' => $attributes] = $settings;
        return new PdoSession(new \PDO($dsn, $user, $password, $attributes ?: null));
    }

    /** PDO has no word that only requires TLS: whichever names a file or ciphers does. */
    private static function tls(Tls $tls): array
    {
        if ($tls->mode === 'unset' || $tls->mode === 'off') {
            return [];
        }
        $asks = [\PDO::MYSQL_ATTR_SSL_CIPHER => 'DEFAULT'];
        if ($tls->mode === 'required') {
            return $asks;
        }
        $words = [
            \PDO::MYSQL_ATTR_SSL_CA => $tls->caFile,
            \PDO::MYSQL_ATTR_SSL_CERT => $tls->certificateFile,
            \PDO::MYSQL_ATTR_SSL_KEY => $tls->keyFile,
        ];
        $files = array_filter($words, static fn (?string $path) => $path !== null);
        $checks = [\PDO::MYSQL_ATTR_SSL_VERIFY_SERVER_CERT => $tls->verify !== 'none'];
        return ($files ?: $asks) + $checks;
    }
}

/** A connection of PDO's, with the statements that are prepared on it. */
final class PdoSession implements Session
{
    /** @var array<string, \PDOStatement> */
    private array $prepared = [];

    public function __construct(private ?\PDO $connection)
    {
    }

    public function say(string $sql): ?array
    {
        return self::rows($this->connection->query($sql));
    }

    public function runPrepared(string $sql, array $values): ?array
    {
        $statement = $this->prepared[$sql] ??= $this->connection->prepare($sql);
        foreach ($values as $place => $value) {
            $statement->bindValue($place + 1, $value, is_int($value) ? \PDO::PARAM_INT : \PDO::PARAM_STR);
        }
        $statement->execute();
        return self::rows($statement);
    }

    /** PDO has no call for it: a connection is closed when nothing refers to it. */
    public function close(): void
    {
        $this->prepared = [];
        $this->connection = null;
    }

    private static function rows(\PDOStatement $statement): ?array
    {
        return $statement->columnCount() ? $statement->fetchAll(\PDO::FETCH_NUM) : null;
    }
}
