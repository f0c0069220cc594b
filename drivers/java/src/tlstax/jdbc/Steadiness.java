// When a just-in-time compiler is through with its work: the contract's rule, on slices of the warm-up.
package tlstax.jdbc;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Steady is a client whose CPU time per operation falls no more: the median of the last five slices is at
 * least 0.95 of the median of the five before. That alone stops too early here: while the compiler is busy,
 * its own CPU time holds the median up. So it must have rested for nine tenths of the same ten slices too.
 */
final class Steadiness {
    static final double SLICE_S = 0.1;
    private static final int HALF = 5;
    private static final double LEAST_RATIO = 0.95;
    private static final double MOST_COMPILING = 0.1;

    private final List<Double> costs_us = new ArrayList<>();
    private final List<Double> lengths_s = new ArrayList<>();
    private final List<Double> compiling_s = new ArrayList<>();
    private final JsonArray slices = new JsonArray();
    private double end_s;

    /** A slice: when it ended, what was done in it, and how long the compiler was at work in it. */
    void add(double elapsed_s, long operations, double cpu_us, double compiled_s) {
        JsonObject slice = new JsonObject();
        slice.addProperty("elapsed_s", elapsed_s);
        slice.addProperty("operations", operations);
        slice.addProperty("cpu_us", cpu_us);
        slices.add(slice);
        costs_us.add(operations == 0 ? Double.POSITIVE_INFINITY : cpu_us / operations);
        lengths_s.add(elapsed_s - end_s);
        compiling_s.add(compiled_s);
        end_s = elapsed_s;
    }

    boolean isReached() {
        int count = costs_us.size();
        if (count < 2 * HALF) {
            return false;
        }
        double before = median(costs_us.subList(count - 2 * HALF, count - HALF));
        double last = median(costs_us.subList(count - HALF, count));
        boolean rested = sumOfLast(compiling_s) < MOST_COMPILING * sumOfLast(lengths_s);
        return Double.isFinite(last) && last >= LEAST_RATIO * before && rested;
    }

    private static double sumOfLast(List<Double> all) {
        return all.subList(all.size() - 2 * HALF, all.size()).stream().mapToDouble(Double::doubleValue).sum();
    }

    private static double median(List<Double> odd) {
        double[] sorted = odd.stream().mapToDouble(Double::doubleValue).toArray();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    JsonArray json() {
        return slices;
    }
}
