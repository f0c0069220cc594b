// A span of work that all connections' threads share: a part of the warm-up, or the window's slices.
package tlstax.jdbc;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** A slice ends by the clock; the stage by the operations, an empty sequence, or failures in a row. */
final class Stage {
    private static final int MOST_FAILURES_IN_A_ROW = 100;

    final Samples samples;
    private final AtomicLong left;
    private final AtomicInteger failuresInARow = new AtomicInteger();
    /** Written between slices only, while no thread works. */
    private long end_ns;
    private volatile boolean over;
    private volatile boolean exhausted;
    private volatile Failure fatal;

    /** `operations` null: as many as there is time for. Nothing is begun before the first slice. */
    Stage(Long operations, Samples samples) {
        left = operations == null ? null : new AtomicLong(operations);
        this.samples = samples;
    }

    /** A slice begins, at this time of System.nanoTime. */
    void beginSlice(long begin_ns, double length_s) {
        end_ns = begin_ns + (long) (length_s * 1e9);
    }

    /** How many operations may be begun now, `most` at most; 0 when the slice or the stage is over. */
    int take(int most) {
        if (over || System.nanoTime() - end_ns >= 0) {
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
