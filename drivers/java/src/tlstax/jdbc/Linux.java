// The kernel's calls that Java has no word for: exact CPU clocks, pinning, files in memory (through JNA).
package tlstax.jdbc;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.io.File;
import java.util.List;

/** Java's own CPU clock counts in ticks of 10 ms, too coarse for a slice of 0.1 s. */
final class Linux {
    private static final int CLOCK_PROCESS_CPUTIME_ID = 2;
    private static final int RUSAGE_SELF = 0;
    /** Bytes of glibc's cpu_set_t: 1,024 CPUs. */
    private static final int CPU_SET_BYTES = 128;

    static {
        Native.register(Linux.class, "c");
    }

    private Linux() {}

    private static native int clock_gettime(int clock, Pointer time) throws LastErrorException;

    private static native int getrusage(int who, Pointer usage) throws LastErrorException;

    private static native int sched_setaffinity(int thread, long bytes, Pointer cpus)
            throws LastErrorException;

    private static native int memfd_create(String name, int flags) throws LastErrorException;

    /** CPU time of the process in microseconds, from a clock that counts nanoseconds. */
    static double cpu_us() {
        try (Memory time = new Memory(16)) {
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, time);
            return time.getLong(0) * 1e6 + time.getLong(8) / 1e3;
        }
    }

    /** CPU time of the process in user and in system mode, in microseconds, as the kernel splits it. */
    static double[] split_us() {
        try (Memory usage = new Memory(144)) {
            getrusage(RUSAGE_SELF, usage);
            double user = usage.getLong(0) * 1e6 + usage.getLong(8);
            return new double[] {user, usage.getLong(16) * 1e6 + usage.getLong(24)};
        }
    }

    /** Keeps every thread that this process has, and those that they will start, to these CPUs. */
    static void pin(List<Integer> cpus) throws Failure {
        if (cpus.isEmpty()) {
            return;
        }
        try (Memory set = new Memory(CPU_SET_BYTES)) {
            set.clear();
            for (int cpu : cpus) {
                int at = cpu / 8;
                set.setByte(at, (byte) (set.getByte(at) | 1 << cpu % 8));
            }
            for (String thread : new File("/proc/self/task").list()) {
                pinOne(Integer.parseInt(thread), set);
            }
        } catch (LastErrorException | IndexOutOfBoundsException refused) {
            throw Failure.badJob("this process cannot be kept to the CPUs " + cpus);
        }
    }

    private static void pinOne(int thread, Memory set) {
        try {
            sched_setaffinity(thread, CPU_SET_BYTES, set);
        } catch (LastErrorException refused) {
            int noSuchProcess = 3;
            if (refused.getErrorCode() != noSuchProcess) {
                throw refused;
            }
        }
    }

    /** The path of a new file that is in memory only and goes with this process (memfd_create(2)). */
    static String memoryFile(String name) {
        return "/proc/self/fd/" + memfd_create(name, 0);
    }
}
