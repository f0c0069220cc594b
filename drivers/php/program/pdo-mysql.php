<?php // PDO's driver for MySQL on mysqlnd: a DSN, attributes, query and prepare.

declare(strict_types=1);

namespace Adapter;

require __DIR__ . '/pdo.php';

function driver(object $setup): Driver
{
    return new PdoDriver($setup);
}

/** `new PDO` with a DSN and attributes by their constants' names. */
final class PdoDriver implements Driver
{
    /** Words of the DSN that are the user's own; where to is the job's. */
    private const DSN_WORDS = ['charset'];

    private readonly string $dsn;
    /** @var array<int, bool|int|string> by the constant's number */
    private array $attributes;

    public function __construct(private readonly object $setup)
    {
        $endpoint = $setup->endpoint;
        $words = $endpoint->kind === 'tcp'
            ? ['host' => $endpoint->host, 'port' => $endpoint->port]
            : ['unix_socket' => $endpoint->path];
        if ($setup->account->database !== null) {
            $words['dbname'] = $setup->account->database;
        }
        $this->attributes = self::tls($setup->tls);
        foreach (get_object_vars($setup->options) as $name => $word) {
            if (in_array($name, self::DSN_WORDS, true)) {
                $words[$name] = $word;
            } elseif (preg_match('/^(MYSQL_)?ATTR_[A-Z_]+$/', $name) && defined("PDO::$name")) {
                $this->attributes[constant("PDO::$name")] = optionOf($word);
            } else {
                throw badJob("PDO has no option $name: it takes ATTR_… and MYSQL_ATTR_… by their names, and charset");
            }
        }
        $pairs = array_map(static fn ($name, $word) => "$name=$word", array_keys($words), $words);
        $this->dsn = 'mysql:' . implode(';', $pairs);
    }

    public function connect(): Session
    {
        $account = $this->setup->account;
        return new PdoSession(new \PDO($this->dsn, $account->user, $account->password, $this->attributes ?: null));
    }

    public function version(): string
    {
        return PHP_VERSION . ' (' . mysqli_get_client_info() . ')';
    }

    public function marked(array $pieces): string
    {
        return implode('?', $pieces);
    }

    /** PDO has no word that only requires TLS: whichever names a file or ciphers does. */
    private static function tls(object $tls): array
    {
        $asks = [\PDO::MYSQL_ATTR_SSL_CIPHER => 'DEFAULT'];
        if ($tls->mode !== 'on') {
            return $tls->mode === 'required' ? $asks : [];
        }
        $words = [
            \PDO::MYSQL_ATTR_SSL_CA => $tls->ca_file,
            \PDO::MYSQL_ATTR_SSL_CERT => $tls->certificate_file,
            \PDO::MYSQL_ATTR_SSL_KEY => $tls->key_file,
        ];
        $files = array_filter($words, static fn (?string $path) => $path !== null);
        return ($files ?: $asks) + [\PDO::MYSQL_ATTR_SSL_VERIFY_SERVER_CERT => $tls->verify !== 'none'];
    }
}
