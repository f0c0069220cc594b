// What one connection's thread has done and met over one stage: latencies, operations, errors.
package tlstax.jdbc;

import com.google.gson.JsonArray;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.Collection;
import java.util.EnumMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.HdrHistogram.AbstractHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.IntCountsHistogram;

/** Written by one thread; while it works others read the two counters only. */
final class Recorder {
    /** The contract's phases that a JDBC client can tell apart. */
    enum Phase {
        CONNECT,
        FIRST_QUERY,
        QUERY,
        CLOSE,
        OPERATION
    }

    private static final int SIGNIFICANT_DIGITS = 3;

    final AtomicLong operations = new AtomicLong();
    final AtomicLong failures = new AtomicLong();
    long scheduled;
    long connections;
    /** Of the operations that succeeded. */
    long latencySum_ns;
    /** By System.nanoTime; 0 before the first. */
    long lastAnswer_ns;
    private final Map<Phase, AbstractHistogram> latencies = new EnumMap<>(Phase.class);
    /** How often, by the kind and then by the code. */
    private final Map<String, Map<Integer, Integer>> errors = new TreeMap<>();

    void record(Phase phase, long nanoseconds) {
        record(phase, nanoseconds, 1);
    }

    void record(Phase phase, long nanoseconds, long count) {
        AbstractHistogram histogram = latencies.get(phase);
        if (histogram == null) {
            histogram = new IntCountsHistogram(SIGNIFICANT_DIGITS);
            histogram.setAutoResize(true);
            latencies.put(phase, histogram);
        }
        histogram.recordValueWithCount(Math.max(1, nanoseconds), count);
    }

    /** So many operations succeeded, each with this latency. */
    void succeeded(long count, long latency_ns) {
        record(Phase.OPERATION, latency_ns, count);
        latencySum_ns += count * latency_ns;
        succeeded(count);
    }

    /** So many succeeded in a batch that failed as a whole, and whose latency is nobody's. */
    void succeeded(long count) {
        operations.lazySet(operations.get() + count);
    }

    void failed(Failure failure, long count) {
        failures.lazySet(failures.get() + count);
        int code = failure.code == null ? -1 : failure.code;
        errors.computeIfAbsent(failure.kind, kind -> new TreeMap<>()).merge(code, (int) count, Integer::sum);
    }

    /** All recorders' latencies by phase, in HdrHistogram's V2 encoding. */
    static JsonObject encoded(Collection<Recorder> recorders) {
        JsonObject encoded = new JsonObject();
        for (Phase phase : Phase.values()) {
            Histogram sum = new Histogram(SIGNIFICANT_DIGITS);
            sum.setAutoResize(true);
            for (Recorder recorder : recorders) {
                AbstractHistogram part = recorder.latencies.get(phase);
                if (part != null) {
                    sum.add(part);
                }
            }
            if (sum.getTotalCount() > 0) {
                encoded.addProperty(phase.name().toLowerCase(java.util.Locale.ROOT), base64(sum));
            }
        }
        return encoded;
    }

    private static String base64(Histogram histogram) {
        ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        int bytes = histogram.encodeIntoCompressedByteBuffer(buffer);
        return Base64.getEncoder().encodeToString(java.util.Arrays.copyOf(buffer.array(), bytes));
    }

    /** All recorders' errors by kind and code. */
    static JsonArray errors(Collection<Recorder> recorders) {
        Map<String, Map<Integer, Integer>> sums = new TreeMap<>();
        for (Recorder recorder : recorders) {
            recorder.errors.forEach((kind, codes) -> codes.forEach((code, count) ->
                    sums.computeIfAbsent(kind, any -> new TreeMap<>()).merge(code, count, Integer::sum)));
        }
        JsonArray listed = new JsonArray();
        sums.forEach((kind, codes) -> codes.forEach((code, count) -> {
            JsonObject error = new JsonObject();
            error.addProperty("kind", kind);
            error.add("code", JsonNull.INSTANCE);
            if (code >= 0) {
                error.addProperty("code", code);
            }
            error.addProperty("count", count);
            listed.add(error);
        }));
        return listed;
    }
}
