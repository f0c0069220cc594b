// What this client says, one JSON object a line.
package tlstax.jdbc;

import com.google.gson.JsonArray;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import java.io.PrintStream;
import java.util.Collection;

/** Writes the contract's events; none of them repeats the password. */
final class Events {
    private final PrintStream out;

    Events(PrintStream out) {
        this.out = out;
    }

    private void say(JsonObject event) {
        out.print(event + "\n");
        out.flush();
    }

    private static JsonObject event(String name) {
        JsonObject event = new JsonObject();
        event.addProperty("event", name);
        return event;
    }

    void error(Failure failure) {
        JsonObject event = event("error");
        event.addProperty("kind", failure.kind);
        event.addProperty("fault", failure.fault());
        event.addProperty("fatal", true);
        event.addProperty("message", failure.getMessage());
        event.addProperty("code", failure.code);
        event.addProperty("count", 1);
        say(event);
    }

    /** `steadiness` null: the warm-up had a fixed length. */
    void ready(String client, Negotiation first, JsonArray negotiated, Steadiness steadiness) {
        JsonObject event = event("ready");
        event.addProperty("client", client);
        event.addProperty("client_version", first.driverVersion);
        event.addProperty("pid", ProcessHandle.current().pid());
        event.addProperty("server_version", first.serverVersion);
        event.add("tls_library", JsonNull.INSTANCE);
        event.add("negotiated", negotiated);
        event.add("warmup", steadiness == null ? new JsonArray() : steadiness.json());
        event.addProperty("steady", steadiness == null ? null : steadiness.isReached());
        say(event);
    }

    void interval(double elapsed_s, long operations, long errors) {
        JsonObject event = event("interval");
        event.addProperty("elapsed_s", elapsed_s);
        event.addProperty("operations", operations);
        event.addProperty("errors", errors);
        say(event);
    }

    void slice(Slice slice) {
        say(json(slice));
    }

    static JsonObject json(Slice slice) {
        JsonObject event = event("slice");
        event.addProperty("elapsed_s", slice.elapsed_s);
        event.addProperty("operations", slice.operations);
        event.addProperty("latency_sum_s", slice.latencySum_ns / 1e9);
        event.addProperty("cpu_us", slice.cpu_us);
        event.add("counts", counts(slice.connections));
        return event;
    }

    void done(Window window, long openedEver, Samples samples) {
        Collection<Recorder> recorders = window.recorders;
        JsonObject event = event("done");
        event.addProperty("elapsed_s", window.elapsed_s);
        event.addProperty("operations", recorders.stream().mapToLong(one -> one.operations.get()).sum());
        event.addProperty("scheduled", recorders.stream().mapToLong(one -> one.scheduled).sum());
        event.addProperty("skipped", 0);
        event.add("window", counts(recorders.stream().mapToLong(one -> one.connections).sum()));
        event.add("lifetime", counts(openedEver));
        event.add("histograms_ns", Recorder.encoded(recorders));
        JsonObject cpu = new JsonObject();
        cpu.addProperty("total_us", window.cpu.total_us);
        cpu.addProperty("user_us", window.cpu.user_us);
        cpu.addProperty("system_us", window.cpu.system_us);
        event.add("cpu", cpu);
        event.add("threads_cpu_us", new JsonArray());
        event.add("wire", JsonNull.INSTANCE);
        event.add("errors", Recorder.errors(recorders));
        event.add("row_samples", samples == null ? new JsonArray() : samples.json());
        event.add("overhead", JsonNull.INSTANCE);
        say(event);
    }

    /** A driver tells neither handshakes nor ways of logging in. */
    private static JsonObject counts(long connections) {
        JsonObject counts = new JsonObject();
        counts.addProperty("connections", connections);
        counts.add("handshakes", new JsonArray());
        counts.add("authentications", new JsonObject());
        return counts;
    }
}
