// The measured span, which is the sum of its slices: what lies between two of them counts nowhere.
package tlstax.jdbc;

import java.util.Collection;

/** Slices are opened and closed one after the other, while no thread works. */
final class Window {
    private static final double INTERVAL_S = 1;

    final Collection<Recorder> recorders;
    double elapsed_s;
    Cpu cpu = Cpu.NONE;
    private Cpu cpuBefore = Cpu.NONE;
    private long begin_ns;
    private double length_s;
    private long operations;
    private long latencySum_ns;
    private long connections;
    private double nextInterval_s;
    private long toldOperations;
    private long toldFailures;

    /** These have nothing in them yet. */
    Window(Collection<Recorder> recorders) {
        this.recorders = recorders;
    }

    /** A slice begins now. Gives the time of System.nanoTime. */
    long openSlice(double length_s) {
        begin_ns = System.nanoTime();
        cpuBefore = Cpu.now();
        this.length_s = length_s;
        nextInterval_s = INTERVAL_S;
        return begin_ns;
    }

    /** Says about once a second what was done in the slice since it was last said. */
    void tell(Events events) {
        double now_s = (System.nanoTime() - begin_ns) / 1e9;
        if (now_s < nextInterval_s) {
            return;
        }
        nextInterval_s += INTERVAL_S;
        long operationsBefore = toldOperations;
        long failuresBefore = toldFailures;
        toldOperations = recorders.stream().mapToLong(one -> one.operations.get()).sum();
        toldFailures = failures();
        events.interval(now_s, toldOperations - operationsBefore, toldFailures - failuresBefore);
    }

    private long failures() {
        long failures = 0;
        for (Recorder one : recorders) {
            failures += one.failures.get();
        }
        return failures;
    }

    /** The slice is over: until the last answer, or for all its length where nothing was answered. */
    Slice closeSlice() {
        long operationsBefore = operations;
        long latencySumBefore_ns = latencySum_ns;
        long connectionsBefore = connections;
        operations = 0;
        latencySum_ns = 0;
        connections = 0;
        double lasted_s = 0;
        for (Recorder one : recorders) {
            operations += one.operations.get();
            latencySum_ns += one.latencySum_ns;
            connections += one.connections;
            if (one.lastAnswer_ns != 0) {
                lasted_s = Math.max(lasted_s, (one.lastAnswer_ns - begin_ns) / 1e9);
            }
        }
        toldOperations = operations;
        toldFailures = failures();
        lasted_s = lasted_s > 0 ? lasted_s : length_s;
        Cpu used = Cpu.now().minus(cpuBefore);
        elapsed_s += lasted_s;
        cpu = cpu.plus(used);
        return new Slice(
                lasted_s,
                operations - operationsBefore,
                latencySum_ns - latencySumBefore_ns,
                connections - connectionsBefore,
                used.total_us);
    }

    /** Whether a slice was closed. */
    boolean hasSlices() {
        return elapsed_s > 0;
    }
}
