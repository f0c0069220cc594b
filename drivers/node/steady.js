// When a warm-up may end: the CPU time of an operation has stopped to fall.

const COMPARED = 5;
const STEADY_AT_LEAST = 0.95;

/**
 * Whether the median CPU time per operation of the last five slices is at least 0.95 of the median of the
 * five before them. A slice without operations has no CPU time per operation; it counts as endless.
 */
export function isSteady(slices) {
  if (slices.length < 2 * COMPARED) return false;
  const last = median(slices.slice(-COMPARED));
  const before = median(slices.slice(-2 * COMPARED, -COMPARED));
  return Number.isFinite(last) && last >= STEADY_AT_LEAST * before;
}

function median(slices) {
  const costs = slices.map((one) => (one.operations ? one.cpu_us / one.operations : Infinity));
  return costs.sort((a, b) => a - b)[Math.floor(costs.length / 2)];
}
