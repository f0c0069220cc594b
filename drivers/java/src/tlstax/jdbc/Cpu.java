// CPU time of the process: in all by a nanosecond clock, and split as the kernel has it.
package tlstax.jdbc;

/** In microseconds. */
final class Cpu {
    static final Cpu NONE = new Cpu(0, 0, 0);

    final double total_us;
    final double user_us;
    final double system_us;

    private Cpu(double total_us, double user_us, double system_us) {
        this.total_us = total_us;
        this.user_us = user_us;
        this.system_us = system_us;
    }

    /** What the process has used until now. The main thread's alone, as its memory is. */
    static Cpu now() {
        double[] split_us = Linux.split_us();
        return new Cpu(Linux.cpu_us(), split_us[0], split_us[1]);
    }

    Cpu plus(Cpu other) {
        return new Cpu(total_us + other.total_us, user_us + other.user_us, system_us + other.system_us);
    }

    Cpu minus(Cpu other) {
        return new Cpu(total_us - other.total_us, user_us - other.user_us, system_us - other.system_us);
    }
}
