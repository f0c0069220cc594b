<?php // The extension pgsql, by its functions: pg_connect, pg_query, pg_prepare and pg_execute.

declare(strict_types=1);

namespace Adapter;

require __DIR__ . '/libpq.php';

function driver(object $setup): Driver
{
    return new PgsqlDriver($setup);
}

/** `pg_connect` with libpq's words. */
final class PgsqlDriver implements Driver
{
    private readonly string $words;

    public function __construct(object $setup)
    {
        $account = ['user' => $setup->account->user, 'password' => $setup->account->password];
        $this->words = libpqText([...$account, ...libpqWords($setup)], ' ');
    }

    /** Without that word it would hand out an earlier connection with the same words once more. */
    public function connect(): Session
    {
        $connection = pg_connect($this->words, PGSQL_CONNECT_FORCE_NEW);
        if ($connection === false) {
            throw failureOfPostgres(Warnings::take(), null);
        }
        return new PgsqlSession($connection);
    }

    public function version(): string
    {
        return PHP_VERSION . ' (libpq ' . pg_version()['client'] . ')';
    }

    public function marked(array $pieces): string
    {
        $text = array_shift($pieces);
        foreach ($pieces as $place => $piece) {
            $text .= '$' . $place + 1 . $piece;
        }
        return $text;
    }
}

/** A connection of pgsql's. */
final class PgsqlSession implements Session
{
    private int $prepared = 0;

    public function __construct(private readonly \PgSql\Connection $connection)
    {
    }

    public function say(string $sql): array
    {
        pg_send_query($this->connection, $sql) || $this->failed();
        return $this->rows();
    }

    public function prepare(string $sql): object
    {
        $name = 's' . ++$this->prepared;
        pg_send_prepare($this->connection, $name, $sql) || $this->failed();
        $this->rows();
        return (object) ['name' => $name];
    }

    public function run(object $statement, string $types, array $values): array
    {
        pg_send_execute($this->connection, $statement->name, $values) || $this->failed();
        return $this->rows();
    }

    public function close(): void
    {
        pg_close($this->connection);
    }

    /** `pg_query` and its like say in words alone what went wrong; these calls are what they consist of. */
    private function rows(): array
    {
        $rows = [];
        while ($result = pg_get_result($this->connection)) {
            $state = pg_result_error_field($result, PGSQL_DIAG_SQLSTATE);
            if (is_string($state)) {
                $words = (string) pg_result_error($result);
                while (pg_get_result($this->connection)) {
                    continue;
                }
                throw failureOfPostgres($words, $state);
            }
            $rows = pg_num_fields($result) ? pg_fetch_all($result, PGSQL_NUM) : [];
        }
        return $rows;
    }

    private function failed(): never
    {
        throw failureOfPostgres(pg_last_error($this->connection), null);
    }
}
