<?php // A JSON object read field by field: what is missing, of another type or left over is a bad job.

declare(strict_types=1);

namespace DriverContract;

/** One JSON object of the job, of which every field is to be taken. */
final class Fields
{
    private array $left;

    public function __construct(mixed $value, private readonly string $where)
    {
        if (!$value instanceof \stdClass) {
            throw badJob("$where is not an object in this job");
        }
        $this->left = get_object_vars($value);
    }

    /** The field, which has this type (`text`, `whole`, `number`, `truth`, `list` or `object`). */
    public function take(string $name, string $type): mixed
    {
        $value = $this->maybe($name, $type);
        return $value ?? throw badJob("{$this->where} has no $name in this job");
    }

    /** The field, or `$otherwise` where it is absent or null. */
    public function maybe(string $name, string $type, mixed $otherwise = null): mixed
    {
        $value = $this->left[$name] ?? null;
        unset($this->left[$name]);
        if ($value === null) {
            return $otherwise;
        }
        $fits = match ($type) {
            'text' => is_string($value),
            'whole' => is_int($value),
            'number' => is_int($value) || is_float($value),
            'truth' => is_bool($value),
            'list' => is_array($value),
            'object' => $value instanceof \stdClass,
        };
        return $fits ? $value : throw badJob("{$this->where}.$name is not a $type in this job");
    }

    /** A field that this client can do nothing with has to be empty, false or absent. */
    public function refuse(string $name, string $why): void
    {
        $value = $this->left[$name] ?? null;
        unset($this->left[$name]);
        if ($value) {
            throw badJob("{$this->where}.$name: $why");
        }
    }

    /** Fields that have no meaning for this client. */
    public function ignore(string ...$names): void
    {
        foreach ($names as $name) {
            unset($this->left[$name]);
        }
    }

    /** Nothing is left over. */
    public function end(): void
    {
        if ($this->left) {
            $name = min(array_keys($this->left));
            throw badJob("{$this->where} has a field that this client does not know: $name");
        }
    }
}
