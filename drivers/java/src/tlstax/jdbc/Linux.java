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

    private static final short POLLHUP = 0x10;
    private static final short POLLRDHUP = 0x2000;
    /** Kept, as each of these clocks is read at every slice: a `struct timespec` and a `struct rusage`. */
    private static final Memory TIME = new Memory(16);
    private static final Memory USAGE = new Memory(144);

    static {
        Native.register(Linux.class, "c");
    }

    private Linux() {}

    private static native int clock_gettime(int clock, Pointer time) throws LastErrorException;

    private static native int getrusage(int who, Pointer usage) throws LastErrorException;

    private static native int sched_setaffinity(int thread, long bytes, Pointer cpus)
            throws LastErrorException;

    private static native int poll(Pointer files, long count, int timeout_ms) throws LastErrorException;

    private static native int memfd_create(String name, int flags) throws LastErrorException;

    /** CPU time of the process in microseconds, from a clock that counts nanoseconds. */
    static double cpu_us() {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, TIME);
        return TIME.getLong(0) * 1e6 + TIME.getLong(8) / 1e3;
    }

    /** CPU time of the process in user and in system mode, in microseconds, as the kernel splits it. */
    static double[] split_us() {
        getrusage(RUSAGE_SELF, USAGE);
        double user = USAGE.getLong(0) * 1e6 + USAGE.getLong(8);
        return new double[] {user, USAGE.getLong(16) * 1e6 + USAGE.getLong(24)};
    }

    /** Whether the other end of this pipe or socket is closed; what it said before may still be unread. */
    static boolean isHungUp(int file) {
        try (Memory asked = new Memory(8)) {
            asked.setInt(0, file);
            asked.setShort(4, POLLRDHUP);
            asked.setShort(6, (short) 0);
            poll(asked, 1, 0);
            return (asked.getShort(6) & (POLLHUP | POLLRDHUP)) != 0;
        } catch (LastErrorException interrupted) {
            return false;
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
