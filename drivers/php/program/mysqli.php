<?php // mysqli on mysqlnd, by its objects: real_connect, query and prepare.

declare(strict_types=1);

namespace Adapter;

function driver(object $setup): Driver
{
    mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
    return new MysqliDriver($setup);
}

/** `mysqli_init`, its options by their constants' names, and `real_connect`. */
final class MysqliDriver implements Driver
{
    /** Words for the arguments of `ssl_set`, in their order. */
    private const SSL_SET = ['ssl_key', 'ssl_cert', 'ssl_ca', 'ssl_capath', 'ssl_cipher'];

    private int $flags = 0;
    /** @var array<int, int|string> by the constant's number */
    private array $options = [];
    /** @var array<string, ?string> */
    private array $ssl = [];

    public function __construct(private readonly object $setup)
    {
        $this->setTls($setup->tls);
        foreach (get_object_vars($setup->options) as $name => $word) {
            $this->setOption($name, optionOf($word));
        }
    }

    public function connect(): Session
    {
        ['user' => $user, 'password' => $password, 'database' => $database] = (array) $this->setup->account;
        $endpoint = $this->setup->endpoint;
        $connection = mysqli_init();
        foreach ($this->options as $number => $word) {
            $connection->options($number, $word);
        }
        if (array_filter($this->ssl)) {
            $connection->ssl_set(...array_map(fn (string $name) => $this->ssl[$name] ?? null, self::SSL_SET));
        }
        $connection->real_connect(
            $endpoint->host ?? null,
            $user,
            $password,
            $database,
            $endpoint->port ?? 3306,
            $endpoint->path ?? null,
            $this->flags,
        );
        return new MysqliSession($connection);
    }

    public function version(): string
    {
        return PHP_VERSION . ' (' . mysqli_get_client_info() . ')';
    }

    public function marked(array $pieces): string
    {
        return implode('?', $pieces);
    }

    private function setTls(object $tls): void
    {
        if ($tls->mode === 'required') {
            $this->flags = MYSQLI_CLIENT_SSL;
        } elseif ($tls->mode === 'on') {
            $this->flags = MYSQLI_CLIENT_SSL | ($tls->verify === 'none'
                ? MYSQLI_CLIENT_SSL_DONT_VERIFY_SERVER_CERT
                : MYSQLI_CLIENT_SSL_VERIFY_SERVER_CERT);
            $this->ssl = ['ssl_key' => $tls->key_file, 'ssl_cert' => $tls->certificate_file, 'ssl_ca' => $tls->ca_file];
        }
    }

    private function setOption(string $name, bool|int|string $word): void
    {
        if (in_array($name, self::SSL_SET, true)) {
            $this->ssl[$name] = (string) $word;
        } elseif (preg_match('/^MYSQLI_CLIENT_[A-Z_]+$/', $name) && defined($name)) {
            $this->flags = $word ? $this->flags | constant($name) : $this->flags & ~constant($name);
        } elseif (preg_match('/^MYSQLI_(OPT_[A-Z_]+|INIT_COMMAND|SET_CHARSET_NAME|SERVER_PUBLIC_KEY)$/', $name)
            && defined($name)) {
            $this->options[constant($name)] = is_bool($word) ? (int) $word : $word;
        } else {
            throw badJob("mysqli has no option $name: it takes MYSQLI_OPT_… and MYSQLI_CLIENT_… by their names");
        }
    }
}

/** A connection of mysqli's. */
final class MysqliSession implements Session
{
    public function __construct(private readonly \mysqli $connection)
    {
    }

    public function say(string $sql): array
    {
        $result = $this->connection->query($sql);
        return $result === true ? [] : $result->fetch_all(MYSQLI_NUM);
    }

    public function prepare(string $sql): object
    {
        return $this->connection->prepare($sql);
    }

    public function run(object $statement, string $types, array $values): array
    {
        if ($types !== '') {
            $statement->bind_param($types, ...$values);
        }
        $statement->execute();
        $result = $statement->get_result();
        return $result === false ? [] : $result->fetch_all(MYSQLI_NUM);
    }

    public function close(): void
    {
        $this->connection->close();
    }
}
