<?php // The orders of drivers/ADAPTERS.md, done on the one connection that a process of PHP has at work.

declare(strict_types=1);

namespace Adapter;

/** A driver: how it connects. */
interface Driver
{
    /** An open connection. Throws what the driver throws. */
    public function connect(): Session;

    /** What it says its version is, and that of the client library. */
    public function version(): string;

    /** A statement as it is prepared, with a mark for each value between the pieces. */
    public function marked(array $pieces): string;
}

/** A connection that is open. */
interface Session
{
    /** Run this text; its rows, of which a statement that selects nothing has none. */
    public function say(string $sql): array;

    /** Prepare this statement, marked as the driver has it. */
    public function prepare(string $sql): object;

    /** Run a prepared statement with values of these types (`i` a whole number, `s` a text); its rows. */
    public function run(object $statement, string $types, array $values): array;

    /** Hang up as the driver does. */
    public function close(): void;
}

/** The connection, its stock of operations, and the times of those that are done. */
final class Channel
{
    private ?Session $session = null;
    /** @var list<?object> the prepared statement of each call; null for a text */
    private array $statements = [];
    /** @var list<string> by call: the types of its fields; empty for a call that has none */
    private readonly array $types;
    private readonly string $allTypes;
    /** @var list<int|string> the fields of all operations of the stock, those that are done in front */
    private array $fields = [];
    private int $nextField = 0;
    private int $stock = 0;
    /** @var list<int> */
    private array $times = [];
    private int $opened = 0;

    /**
     * @param resource $in
     * @param resource $out
     */
    public function __construct(
        private readonly Driver $driver,
        private readonly object $setup,
        private $in,
        private $out,
    ) {
        $types = static fn (object $call) => $call->prepared ? $call->types : 's';
        $this->types = array_map($types, $setup->calls);
        $this->allTypes = implode('', $this->types);
    }

    /** Answer every order until there are no more. */
    public function serve(): void
    {
        while (($line = fgets($this->in)) !== false) {
            $words = explode(' ', rtrim($line));
            $body = '';
            try {
                $answer = match ($words[0]) {
                    'open' => $this->open(),
                    'rows' => ['rows' => $this->rows((int) $words[1], $this->body($words[2]))],
                    'operations' => $this->add((int) $words[1], $this->body($words[2])),
                    'empty' => $this->empty(),
                    'work' => ['operations' => $this->work((int) $words[1])],
                    'report' => $this->report($body),
                    'close' => $this->close(),
                };
            } catch (\Throwable $error) {
                $answer = $this->failed($error);
            }
            say($this->out, $answer, $body);
        }
    }

    private function body(string $bytes): string
    {
        return (int) $bytes === 0 ? '' : stream_get_contents($this->in, (int) $bytes);
    }

    private function open(): array
    {
        $this->session = $this->connected();
        $this->makeReady();
        return ['version' => $this->driver->version()];
    }

    private function connected(): Session
    {
        try {
            $session = $this->driver->connect();
        } catch (\Throwable $error) {
            throw failureOf($error, opening: true, tls: $this->setup->tls->mode);
        }
        ++$this->opened;
        return $session;
    }

    /** Say what is to be said on every connection, and prepare each statement once. */
    private function makeReady(): void
    {
        foreach ($this->setup->on_connect as $sql) {
            $this->session->say($sql);
        }
        $prepared = $this->statements = [];
        foreach ($this->setup->calls as $call) {
            $sql = $this->driver->marked($call->pieces);
            $this->statements[] = $call->prepared ? $prepared[$sql] ??= $this->session->prepare($sql) : null;
        }
    }

    private function rows(int $call, string $body): array
    {
        if ($call < 0) {
            return shown($this->session->say($body));
        }
        return shown($this->call($call, typed(explode("\x1F", $body), $this->types[$call])));
    }

    private function call(int $number, array $fields): array
    {
        $statement = $this->statements[$number];
        return $statement === null
            ? $this->session->say($fields[0])
            : $this->session->run($statement, $this->types[$number], $fields);
    }

    private function add(int $count, string $body): array
    {
        $fields = typed(explode("\x1F", strtr($body, "\x1E", "\x1F")), $this->allTypes);
        $this->fields = $this->stock > 0 ? [...array_slice($this->fields, $this->nextField), ...$fields] : $fields;
        $this->nextField = 0;
        $this->stock += $count;
        return [];
    }

    private function empty(): array
    {
        [$this->fields, $this->nextField, $this->stock] = [[], 0, 0];
        return [];
    }

    /** Do operations of the stock until then; how many. */
    private function work(int $untilNs): int
    {
        for ($done = 0; $this->stock > 0 && ($nowNs = hrtime(true)) < $untilNs; ++$done) {
            --$this->stock;
            array_push($this->times, ...$this->operation($nowNs));
        }
        return $done;
    }

    private function operation(int $begunNs): array
    {
        $field = $this->nextField;
        $this->nextField += strlen($this->allTypes);
        $connectedNs = $readyNs = $begunNs;
        if ($this->session === null) {
            $this->session = $this->connected();
            $connectedNs = hrtime(true);
            $this->makeReady();
            $readyNs = hrtime(true);
        }
        $times = [$begunNs, $connectedNs, $readyNs];
        foreach ($this->types as $call => $types) {
            $count = strlen($types);
            $this->call($call, array_slice($this->fields, $field, $count));
            $times[] = $lastNs = hrtime(true);
            $field += $count;
        }
        if ($this->setup->reconnect) {
            $this->close();
            $lastNs = hrtime(true);
        }
        $times[] = $lastNs;
        return $times;
    }

    private function report(string &$body): array
    {
        $body = $this->times ? implode(' ', $this->times) . "\n" : '';
        $this->times = [];
        return ['opened' => $this->opened, 'bytes' => strlen($body)];
    }

    private function close(): array
    {
        [$session, $this->session, $this->statements] = [$this->session, null, []];
        $session?->close();
        return [];
    }

    /** Leave the connection fit for the next order; what is to be answered. */
    private function failed(\Throwable $error): array
    {
        $failure = failureOf($error);
        if ($failure->isLost() || $this->setup->reconnect) {
            try {
                $this->close();
            } catch (\Throwable) {
                // It is of no more use, and how it ends does not matter.
            }
        }
        return $failure->answer();
    }
}

/** Fields with whole numbers as such, by types that repeat. */
function typed(array $fields, string $types): array
{
    if (str_contains($types, 'i')) {
        $count = strlen($types);
        foreach ($fields as $place => $field) {
            if ($types[$place % $count] === 'i') {
                $fields[$place] = (int) $field;
            }
        }
    }
    return $fields;
}

/** Rows as the text protocol has them. */
function shown(array $rows): array
{
    $text = static fn (mixed $value) => match (true) {
        $value === null => null,
        is_float($value) => str_replace(['.0E', 'E+', 'E'], ['E', 'e', 'e'], (string) $value),
        default => (string) $value,
    };
    return array_map(static fn (array $row) => array_map($text, $row), $rows);
}

/**
 * Write a line of JSON, and a body behind it.
 *
 * @param resource $out
 */
function say($out, array $answer, string $body = ''): void
{
    $flags = JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE;
    fwrite($out, json_encode((object) $answer, $flags) . "\n" . $body);
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
