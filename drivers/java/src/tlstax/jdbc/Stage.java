// A span of work that all connections' threads share: the warm-up or the window.
package tlstax.jdbc;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Ends by the clock, the number of operations, an empty sequence, or a hundred failures in a row. */
final class Stage {
    private static final int MOST_FAILURES_IN_A_ROW = 100;

    final Samples samples;
    final long begin_ns = System.nanoTime();
    private final long end_ns;
    private final AtomicLong left;
    private final AtomicInteger failuresInARow = new AtomicInteger();
    private volatile boolean over;
    private volatile boolean exhausted;
    private volatile Failure fatal;

    /** `operations` null: as many as there is time for. */
    Stage(double duration_s, Long operations, Samples samples) {
        end_ns = begin_ns + (long) (duration_s * 1e9);
        left = operations == null ? null : new AtomicLong(operations);
        this.samples = samples;
    }

    /** How many operations may be begun now, `most` at most; 0 when the stage is over. */
    int take(int most) {
        if (over || System.nanoTime() >= end_ns) {
            return 0;
        }
        if (left == null) {
            return most;
        }
        long before = left.getAndAdd(-most);
        return (int) Math.max(0, Math.min(most, before));
    }

    /** A sequence has no number left: nothing is begun from now on. */
    void exhaust() {
        exhausted = true;
        over = true;
    }

    boolean isExhausted() {
        return exhausted;
    }

    void succeeded() {
        if (failuresInARow.get() != 0) {
            failuresInARow.set(0);
        }
    }

    void failed(Failure failure) {
        if (failuresInARow.incrementAndGet() >= MOST_FAILURES_IN_A_ROW) {
            fatal = failure;
            over = true;
        }
    }

    /** Throws what ended the stage, if it was an error. */
    void check() throws Failure {
        if (fatal != null) {
            throw fatal;
        }
    }
}
