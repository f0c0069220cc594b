<?php // Statements with placeholders, filled in with values that are drawn for each run.

declare(strict_types=1);

namespace DriverContract;

use Random\Randomizer;

/** A sequence has given its last number: the window ends, and that is no error. */
final class Exhausted extends \Exception
{
}

/** One statement: texts and the names of values in turn, how values are drawn, and how it is sent. */
final class Statement
{
    /**
     * @param list<string> $texts
     * @param list<string> $names
     * @param array<string, \Closure> $draws in the order in which they need each other
     */
    public function __construct(
        private readonly array $texts,
        private readonly array $names,
        private readonly array $draws,
        public readonly int $repeat,
        public readonly bool $prepared,
    ) {
    }

    /** Whether it only reads. */
    public function isSelect(): bool
    {
        return stripos(ltrim($this->texts[0]), 'SELECT') === 0;
    }

    /** Values for one run, in the order of the placeholders. Throws Exhausted. */
    public function draw(Randomizer $random): array
    {
        $drawn = [];
        foreach ($this->draws as $name => $draw) {
            $drawn[$name] = $draw($random, $drawn);
        }
        $values = [];
        foreach ($this->names as $name) {
            $values[] = $drawn[$name];
        }
        return $values;
    }

    /** The statement as text, with the values put in. */
    public function literal(array $values): string
    {
        $sql = $this->texts[0];
        foreach ($values as $place => $value) {
            $sql .= literal($value) . $this->texts[$place + 1];
        }
        return $sql;
    }

    /** The statement with `?` for each value. */
    public function marked(): string
    {
        return implode('?', $this->texts);
    }
}

/** A value as it stands in a statement, whatever the session's sql_mode says of backslashes. */
function literal(int|string $value): string
{
    if (is_int($value)) {
        return (string) $value;
    }
    if (str_contains($value, '\\')) {
        return '_utf8mb4 0x' . bin2hex($value);
    }
    return "'" . str_replace("'", "''", $value) . "'";
}

/** A statement of the job. Throws Failure (bad_job). */
function statementOf(mixed $document, string $protocol): Statement
{
    $fields = new Fields($document, 'statement');
    $sql = $fields->take('sql', 'text');
    $parameters = get_object_vars($fields->maybe('parameters', 'object', new \stdClass()));
    $own = $fields->maybe('protocol', 'text', $protocol);
    $repeat = $fields->maybe('repeat', 'whole', 1);
    $fields->end();
    if ($own !== 'text' && $own !== 'prepared') {
        throw badJob("protocol is neither text nor prepared: $own");
    }
    [$texts, $names] = pieces($sql, $parameters);
    return new Statement($texts, $names, draws($parameters), $repeat, $own === 'prepared');
}

function pieces(string $sql, array $parameters): array
{
    $texts = [''];
    $names = [];
    $words = preg_split('/(\{\{|\}\}|\{[^{}]*\}|[{}])/', $sql, -1, PREG_SPLIT_DELIM_CAPTURE);
    foreach ($words as $place => $word) {
        if ($place % 2 === 0) {
            $texts[array_key_last($texts)] .= $word;
        } elseif ($word === '{{' || $word === '}}') {
            $texts[array_key_last($texts)] .= $word[0];
        } elseif (strlen($word) === 1) {
            throw badJob("a brace stands alone (write it twice) in: $sql");
        } elseif (!array_key_exists(substr($word, 1, -1), $parameters)) {
            throw badJob("placeholder $word has no parameter of that name");
        } else {
            $names[] = substr($word, 1, -1);
            $texts[] = '';
        }
    }
    return [$texts, $names];
}

/** How each value is drawn, so ordered that what an offset counts from comes before it. */
function draws(array $parameters): array
{
    $depth = static function (string $name, array $seen = []) use (&$depth, $parameters): int {
        if (in_array($name, $seen, true)) {
            throw badJob("parameter $name is an offset of itself");
        }
        $of = $parameters[$name]->of ?? null;
        return $of === null ? 0 : 1 + $depth($of, [...$seen, $name]);
    };
    $draws = [];
    foreach ($parameters as $name => $document) {
        $draws[$name] = drawOf((string) $name, $document, $parameters);
    }
    uksort($draws, static fn ($one, $other) => $depth((string) $one) <=> $depth((string) $other));
    return $draws;
}

function drawOf(string $name, mixed $document, array $parameters): \Closure
{
    $fields = new Fields($document, "parameter $name");
    $kind = $fields->take('kind', 'text');
    $draw = match ($kind) {
        'uniform_int' => uniform($fields->take('low', 'whole'), $fields->take('high', 'whole')),
        'sequence' => sequence($fields->take('first', 'whole'), $fields->take('last', 'whole')),
        'offset' => offset($name, $fields->take('of', 'text'), $fields->take('by', 'whole'), $parameters),
        'digits' => digits($fields->take('template', 'text')),
        'one_of' => oneOf($fields->take('values', 'list')),
        default => throw badJob("parameter $name is of a kind that this client does not know: $kind"),
    };
    $fields->end();
    return $draw;
}

function uniform(int $low, int $high): \Closure
{
    if ($low > $high) {
        throw badJob("uniform_int has nothing between $low and $high");
    }
    return static fn (Randomizer $random) => $random->getInt($low, $high);
}

/** Each number once, over the one connection that there is. */
function sequence(int $next, int $last): \Closure
{
    return static function () use (&$next, $last): int {
        return $next <= $last ? $next++ : throw new Exhausted();
    };
}

function offset(string $name, string $of, int $by, array $parameters): \Closure
{
    if (!array_key_exists($of, $parameters)) {
        throw badJob("parameter $name is an offset of $of, which is none");
    }
    return static fn (Randomizer $random, array $drawn) => (int) $drawn[$of] + $by;
}

function digits(string $template): \Closure
{
    return static fn (Randomizer $random) => preg_replace_callback(
        '/#+/',
        static function (array $run) use ($random): string {
            $drawn = '';
            foreach (str_split($run[0], 18) as $part) {
                $count = strlen($part);
                $drawn .= str_pad((string) $random->getInt(0, 10 ** $count - 1), $count, '0', STR_PAD_LEFT);
            }
            return $drawn;
        },
        $template,
    );
}

function oneOf(array $values): \Closure
{
    if (!$values) {
        throw badJob('one_of has no values');
    }
    return static fn (Randomizer $random) => $values[$random->getInt(0, count($values) - 1)];
}
