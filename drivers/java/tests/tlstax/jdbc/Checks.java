// What can be checked of the JDBC client without a server: statements, jobs, errors, when it is steady.
package tlstax.jdbc;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.ByteArrayInputStream;
import java.net.ConnectException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Properties;
import java.util.Set;
import java.util.SplittableRandom;
import javax.net.ssl.SSLHandshakeException;

/** Ends with 1 at the first thing that is not as it should be. */
final class Checks {
    private static final String JOB = "{'schema':2,'endpoint':{'kind':'tcp','host':'h','port':1},"
            + "'account':{'user':'u','password':'p','database':null},'tls':{'mode':'unset'},"
            + "'workload':{'statements':[{'sql':'SELECT 1'}]},'connections':1,'duration_s':1,'seed':1%s}";
    private static int checked;

    private Checks() {}

    public static void main(String[] arguments) throws Failure {
        literals();
        prepared();
        sequences();
        jobs();
        required();
        errors();
        words();
        steadiness();
        lengths();
        stages();
        windows();
        rest();
        System.out.println(checked + " checks passed");
    }

    private static void same(Object found, Object expected) {
        if (!expected.equals(found)) {
            System.err.println("expected " + expected + ", found " + found);
            System.exit(1);
        }
        checked++;
    }

    private static Workload.Statement statement(String json) throws Failure {
        try (Fields fields = new Fields("statement", JsonParser.parseString(json))) {
            return new Workload.Statement(fields, false);
        }
    }

    private static String literal(String value) throws Failure {
        String json = "{'sql':'DO {v} {{}}','parameters':{'v':{'kind':'one_of','values':[\"%s\"]}}}";
        Template template = statement(String.format(json, value)).template;
        return template.literal(template.draw(new SplittableRandom(1)));
    }

    private static void literals() throws Failure {
        same(literal("it's"), "DO 'it''s' {}");
        same(literal("a\\\\b"), "DO _utf8mb4 0x615c62 {}");
    }

    private static void prepared() throws Failure {
        Workload.Statement two = statement("{'sql':'SELECT {b}, {a}, {b}','parameters':{"
                + "'b':{'kind':'offset','of':'a','by':3},'a':{'kind':'uniform_int','low':7,'high':7}}}");
        Object[] values = two.template.draw(new SplittableRandom(1));
        same(two.template.withMarks(), "SELECT ?, ?, ?");
        same(java.util.Arrays.toString(two.template.inOrder(values)), "[10, 7, 10]");
        same(two.template.literal(values), "SELECT 10, 7, 10");
        same(two.sort, Workload.Sort.ROWS);
        same(statement("{'sql':'insert into t values (1)'}").sort, Workload.Sort.CHANGE);
        same(statement("{'sql':'CALL p()'}").sort, Workload.Sort.OTHER);
        same(statement("{'sql':'/* so */ INSERT INTO t VALUES (1)'}").sort, Workload.Sort.OTHER);
    }

    private static void sequences() throws Failure {
        Template template = statement(
                "{'sql':'SELECT {s}','parameters':{'s':{'kind':'sequence','first':1,'last':2}}}").template;
        SplittableRandom random = new SplittableRandom(1);
        same(template.literal(template.draw(random)), "SELECT 1");
        same(template.literal(template.draw(random)), "SELECT 2");
        same(template.draw(random) == null, true);
    }

    private static String refusal(String more) {
        try {
            Job.read(String.format(JOB, more).replace('\'', '"'));
            return "";
        } catch (Failure failure) {
            return failure.kind + ": " + failure.getMessage();
        }
    }

    private static void jobs() {
        same(refusal(",'threads':4"), "");
        same(refusal(",'odd':1"), "bad_job: the job has a field `odd` that this client does not know");
        same(refusal(",'reset':['DO 1']").startsWith("bad_job"), true);
        same(refusal(",'schedule':{'mode':'open','rate_per_s':1}").startsWith("bad_job"), true);
        same(refusal(",'driver':{'batch':2}").startsWith("bad_job"), true);
    }

    private static Properties required(String driver, String... known) {
        Properties said = new Properties();
        Product.of(driver).requireTls(Set.of(known), said);
        return said;
    }

    private static void required() {
        same(required("connector-j-8.0.33", "useSSL", "sslMode"), Map.of("sslMode", "REQUIRED"));
        same(required("connector-j-5.1.49", "useSSL"), Map.of("useSSL", "true", "requireSSL", "true"));
        same(required("mariadb-connector-j-3.5"), Map.of("useSsl", "true"));
    }

    private static String kind(String message, String state, int code, Throwable cause) {
        return Failure.of(new SQLException(message, state, code, cause), "d").kind;
    }

    private static void errors() {
        same(kind("Access denied", "28000", 1045, null), "access_denied");
        same(kind("Public Key Retrieval is not allowed", "08001", 0, null), "access_denied");
        same(kind("Duplicate entry", "23000", 1062, null), "server_error");
        same(kind("Communications link failure", "08S01", 0, new ConnectException("refused")), "connect");
        same(kind("link", "08S01", 0, new SSLHandshakeException("No appropriate protocol")), "tls_handshake");
        same(kind("link", "08S01", 0, new SSLHandshakeException("PKIX path building failed")), "certificate");
        same(kind("SSL Connection required, but not provided by server.", "08001", 0, null), "no_tls");
        same(kind("Self signed certificates. … authentication plugin", "28000", 0, null), "certificate");
        same(kind("SSL hostname verification failed : DNS host", "08000", 0, null), "certificate");
        same(kind("the connection property 'x' only accepts", "S1009", 0, null), "bad_job");
        same(Failure.isLost(new SQLNonTransientConnectionException("gone", "08003")), true);
        same(Failure.isLost(new SQLException("no", "23000", 1062)), false);
    }

    private static void words() {
        Words.keepSecret("hunter2");
        String said = "a\n\nb hunter2 ** BEGIN NESTED EXCEPTION ** at x.Y.z(Y.java:1)";
        same(Words.of(new SQLException(said)), "a b …");
    }

    /** The slice at which it is steady: costs fall by a tenth a slice for so many slices, then no more. */
    private static int steadyAt(int falling, int compiling) {
        Steadiness steadiness = new Steadiness();
        for (int slice = 1; slice <= 100; slice++) {
            double cost_us = 1000 * Math.pow(0.9, Math.min(slice, falling));
            steadiness.add(slice * Steadiness.SLICE_S, 100, cost_us * 100, slice <= compiling ? 0.05 : 0);
            if (steadiness.isReached()) {
                return slice;
            }
        }
        return 0;
    }

    private static void steadiness() {
        same(steadyAt(0, 0), 10);
        same(steadyAt(20, 0), 27);
        same(steadyAt(0, 30), 39);
        same(steadyAt(100, 0), 0);
    }

    /** What is made of a line, where lines without meaning stand before it. */
    private static String order(String line) {
        byte[] said = ("\n  \ngoing 1\n" + line + "\n").getBytes(StandardCharsets.UTF_8);
        try {
            OptionalDouble next_s = new Laboratory(new ByteArrayInputStream(said)).nextSlice_s();
            return next_s.isPresent() ? "slice of " + next_s.getAsDouble() : "end";
        } catch (Failure refused) {
            return refused.kind + ": " + refused.getMessage();
        }
    }

    private static void lengths() {
        same(order("go 0.02"), "slice of 0.02");
        same(order("go 31557600"), "slice of 3.15576E7");
        same(order("end"), "end");
        for (String bad : List.of("go", "go x", "go 0", "go -1", "go NaN", "go 1e999", "go 4e7", "go 1 2")) {
            same(order(bad).startsWith("bad_job: `" + bad + "` has no length"), true);
        }
    }

    /** Operations and failures in a row are the stage's, the time is the slice's. */
    private static void stages() throws Failure {
        Stage stage = new Stage(3L, null);
        stage.beginSlice(System.nanoTime(), 1e6);
        same(stage.take(2), 2);
        stage.beginSlice(System.nanoTime(), 1e6);
        same(stage.take(2), 1);
        same(stage.take(2), 0);
        Stage timed = new Stage(null, null);
        timed.beginSlice(System.nanoTime() - 1_000_000, 1e-6);
        same(timed.take(1), 0);
        Failure failure = new Failure("server_error", "no");
        for (int slice = 0; slice < 10; slice++) {
            timed.check();
            timed.beginSlice(System.nanoTime(), 1e6);
            same(timed.take(1), 1);
            for (int time = 0; time < 10; time++) {
                timed.failed(failure);
            }
        }
        same(timed.take(1), 0);
        try {
            timed.check();
            same("a hundred failures in a row", "a failure");
        } catch (Failure ended) {
            same(ended, failure);
        }
    }

    /** A thread that is at work is waited for. */
    private static void rest() throws Failure {
        long end_ns = System.nanoTime() + 300_000_000;
        Thread busy = new Thread(() -> {
            while (System.nanoTime() < end_ns) {
                Thread.onSpinWait();
            }
        });
        busy.start();
        Rest.await(() -> {});
        same(busy.isAlive(), false);
    }

    /** Slices add up to the window, whatever lies between them. */
    private static void windows() {
        Recorder one = new Recorder();
        Recorder other = new Recorder();
        Window window = new Window(List.of(one, other));
        same(window.hasSlices(), false);
        long begin_ns = window.openSlice(0.25);
        one.succeeded(1, 2_000);
        one.lastAnswer_ns = begin_ns + 2_000;
        other.connections = 2;
        other.succeeded(2, 3_000);
        other.lastAnswer_ns = begin_ns + 6_000;
        JsonObject first = Events.json(window.closeSlice());
        same(first.get("event").getAsString(), "slice");
        same(first.get("elapsed_s").getAsDouble(), 6e-6);
        same(first.get("operations").getAsLong(), 3L);
        same(first.get("latency_sum_s").getAsDouble(), 8e-6);
        same(first.get("counts").getAsJsonObject().get("connections").getAsLong(), 2L);
        while (window.openSlice(0.25) <= begin_ns + 6_000) {
            continue; // Until the last answer was in the past.
        }
        Slice second = window.closeSlice();
        same(second.operations + second.connections + second.latencySum_ns, 0L);
        same(second.elapsed_s, 0.25);
        same(window.elapsed_s, first.get("elapsed_s").getAsDouble() + second.elapsed_s);
        same(window.cpu.total_us, first.get("cpu_us").getAsDouble() + second.cpu_us);
    }
}
