<?php // When a warm-up has done its work: CPU time per operation no longer falls.

declare(strict_types=1);

namespace DriverContract;

const WARMUP_SLICE_S = 0.1;
const COMPARED = 5;

/** The later median of CPU per operation, as a part of the earlier one (contract/README.md). */
const STEADY_AT_LEAST = 0.95;

/**
 * Whether the last five slices cost at least 0.95 of what the five before them did, per operation.
 *
 * @param list<array{elapsed_s: float, operations: int, cpu_us: float}> $slices
 */
function isSteady(array $slices): bool
{
    if (count($slices) < 2 * COMPARED) {
        return false;
    }
    $costs = array_map(
        static fn (array $slice) => $slice['operations'] ? $slice['cpu_us'] / $slice['operations'] : INF,
        array_slice($slices, -2 * COMPARED),
    );
    $before = median(array_slice($costs, 0, COMPARED));
    $after = median(array_slice($costs, COMPARED));
    return $after < INF && $after >= STEADY_AT_LEAST * $before;
}

function median(array $values): float
{
    sort($values);
    return (float) $values[intdiv(count($values), 2)];
}
