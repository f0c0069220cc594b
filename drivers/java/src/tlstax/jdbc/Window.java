// The measured span: its length by the monotonic clock, and the CPU time of the process over it.
package tlstax.jdbc;

/** Begins when it is made. */
final class Window {
    private final double cpuBefore_us;
    private final double[] splitBefore_us;
    double elapsed_s;
    double cpu_us;
    double user_us;
    double system_us;

    Window() {
        splitBefore_us = Linux.split_us();
        cpuBefore_us = Linux.cpu_us();
    }

    /** Both are of System.nanoTime; a window in which nothing ended has lasted until now. */
    void close(long begin_ns, long end_ns) {
        cpu_us = Linux.cpu_us() - cpuBefore_us;
        double[] split_us = Linux.split_us();
        user_us = split_us[0] - splitBefore_us[0];
        system_us = split_us[1] - splitBefore_us[1];
        elapsed_s = ((end_ns > begin_ns ? end_ns : System.nanoTime()) - begin_ns) / 1e9;
    }
}
