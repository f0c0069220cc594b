// What was done in one slice, from its `go` to the last answer.
package tlstax.jdbc;

/** `operations` are those that succeeded, `latencySum_ns` the sum of their latencies. */
final class Slice {
    final double elapsed_s;
    final long operations;
    final long latencySum_ns;
    final long connections;
    final double cpu_us;

    Slice(double elapsed_s, long operations, long latencySum_ns, long connections, double cpu_us) {
        this.elapsed_s = elapsed_s;
        this.operations = operations;
        this.latencySum_ns = latencySum_ns;
        this.connections = connections;
        this.cpu_us = cpu_us;
    }
}
