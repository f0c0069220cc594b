<?php // A connection of PDO's, whichever driver it has.

declare(strict_types=1);

namespace Adapter;

/** A connection of PDO's. */
final class PdoSession implements Session
{
    public function __construct(private ?\PDO $connection)
    {
    }

    public function say(string $sql): array
    {
        return self::rows($this->connection->query($sql));
    }

    public function prepare(string $sql): object
    {
        return $this->connection->prepare($sql);
    }

    public function run(object $statement, string $types, array $values): array
    {
        for ($place = 0; $place < strlen($types); ++$place) {
            $type = $types[$place] === 'i' ? \PDO::PARAM_INT : \PDO::PARAM_STR;
            $statement->bindValue($place + 1, $values[$place], $type);
        }
        $statement->execute();
        return self::rows($statement);
    }

    /** PDO has no call for it: a connection is closed when nothing refers to it. */
    public function close(): void
    {
        $this->connection = null;
    }

    private static function rows(\PDOStatement $statement): array
    {
        return $statement->columnCount() ? $statement->fetchAll(\PDO::FETCH_NUM) : [];
    }
}
