<?php // The worker's end of the conversation: lines come from the watching process, events go to the laboratory.

declare(strict_types=1);

namespace DriverContract;

/** No time is longer than a year (contract/README.md). */
const LONGEST_S = 365.25 * 86400;

/** Standard input has ended: stop at once. */
final class LaboratoryGone extends \Exception
{
}

/** What the worker hears and says; `life` is where it says to the watching process that it is at work. */
final class Laboratory
{
    /**
     * @param resource $lines
     * @param resource $life
     */
    public function __construct(private $lines, private $life)
    {
    }

    /** The next line. Throws LaboratoryGone. */
    public function line(): string
    {
        $line = fgets($this->lines);
        return $line === false ? throw new LaboratoryGone() : trim($line);
    }

    /** How long the next slice is to last; null where there is to be none. Other lines mean nothing. */
    public function nextSliceS(): ?float
    {
        while (true) {
            $words = preg_split('/\s+/', $this->line());
            if ($words === ['end']) {
                return null;
            }
            if ($words[0] === 'go') {
                return sliceLengthS($words);
            }
        }
    }

    /** Return when standard input has ended. */
    public function waitForEnd(): void
    {
        try {
            while (true) {
                $this->line();
            }
        } catch (LaboratoryGone) {
            return;
        }
    }

    /** Write an event. Throws LaboratoryGone where nobody reads it. */
    public function say(array $event): void
    {
        $line = json_encode($event, JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION | JSON_INVALID_UTF8_SUBSTITUTE);
        self::write(STDOUT, "$line\n");
    }

    /** Say to the watching process: `limit SECONDS`, `busy`, `alive` or `idle`. */
    public function sign(string $sign): void
    {
        self::write($this->life, "$sign\n");
    }

    /** @param resource $to */
    private static function write($to, string $text): void
    {
        for ($rest = $text; $rest !== ''; $rest = substr($rest, $written)) {
            $written = @fwrite($to, $rest);
            if ($written === false || $written === 0) {
                throw new LaboratoryGone();
            }
        }
    }
}

/** What stands behind `go`: one number of seconds. Throws Failure (bad_job). */
function sliceLengthS(array $words): float
{
    $lengthS = count($words) === 2 && is_numeric($words[1]) ? (float) $words[1] : NAN;
    if (!($lengthS > 0 && $lengthS <= LONGEST_S)) {
        $said = implode(' ', $words);
        throw badJob("`$said` has no length of a slice: a number of seconds above 0, a year at most");
    }
    return $lengthS;
}
