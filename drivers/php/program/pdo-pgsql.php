<?php // PDO's driver for PostgreSQL on libpq: a DSN, attributes, query and prepare.

declare(strict_types=1);

namespace Adapter;

require __DIR__ . '/libpq.php';
require __DIR__ . '/pdo.php';

function driver(object $setup): Driver
{
    return new PdoPgsqlDriver($setup);
}

/** `new PDO` with libpq's words in the DSN, and attributes by their constants' names. */
final class PdoPgsqlDriver implements Driver
{
    private readonly string $dsn;
    /** @var array<int, bool|int|string> by the constant's number */
    private array $attributes = [];

    public function __construct(private readonly object $setup)
    {
        $words = [];
        foreach (libpqWords($setup) as $name => $word) {
            if (preg_match('/^(PGSQL_)?ATTR_[A-Z_]+$/', $name) && defined("PDO::$name")) {
                $this->attributes[constant("PDO::$name")] = optionOf($word);
            } else {
                $words[$name] = $word;
            }
        }
        $this->dsn = 'pgsql:' . libpqText($words, ';');
    }

    public function connect(): Session
    {
        $account = $this->setup->account;
        return new PdoSession(new \PDO($this->dsn, $account->user, $account->password, $this->attributes ?: null));
    }

    public function version(): string
    {
        return PHP_VERSION . ' (libpq ' . PGSQL_LIBPQ_VERSION . ')';
    }

    public function marked(array $pieces): string
    {
        return implode('?', $pieces);
    }
}
