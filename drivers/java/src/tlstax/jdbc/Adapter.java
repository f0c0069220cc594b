// The adapter of JDBC drivers: a thread for each connection, which does as the host orders (drivers/ADAPTERS.md).
package tlstax.jdbc;

import com.google.gson.JsonObject;
import java.io.BufferedInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;

/** One channel: reads an order, does it, answers. */
final class Adapter extends Thread {
    private static final CompilationMXBean COMPILER = ManagementFactory.getCompilationMXBean();

    private final Worker worker;
    private final InputStream orders;
    private final OutputStream answers;

    private Adapter(Worker worker, int[] channel) throws IOException {
        this.worker = worker;
        orders = new BufferedInputStream(new FileInputStream("/dev/fd/" + channel[0]));
        answers = new FileOutputStream("/dev/fd/" + channel[1]);
        setDaemon(true);
    }

    /** Serves all channels until standard input ends. */
    public static void main(String[] none) throws IOException {
        FileOutputStream output = new FileOutputStream(FileDescriptor.out);
        System.setOut(System.err); // What a driver may print is for people.
        InputStream input = System.in;
        Terms terms = Terms.GSON.fromJson(line(input), Terms.class);
        try {
            Door door = new Door(terms);
            for (int[] channel : terms.channels) {
                new Adapter(new Worker(terms, door), channel).start();
            }
            say(output, "{\"takes\": [\"batch\", \"compiles\", \"direct\"]}\n");
        } catch (Failure failure) {
            say(output, Terms.GSON.toJson(failure.answer()) + "\n");
        }
        while (input.read() >= 0) {
            continue;
        }
        Runtime.getRuntime().halt(0);
    }

    private static void say(OutputStream output, String text) throws IOException {
        output.write(text.getBytes(StandardCharsets.UTF_8));
    }

    /** A line without its end; empty at the end. */
    private static String line(InputStream input) throws IOException {
        byte[] bytes = new byte[128];
        int length = 0;
        for (int next = input.read(); next >= 0 && next != '\n'; next = input.read()) {
            if (length == bytes.length) {
                bytes = java.util.Arrays.copyOf(bytes, 2 * length);
            }
            bytes[length++] = (byte) next;
        }
        return new String(bytes, 0, length, StandardCharsets.UTF_8);
    }

    @Override
    public void run() {
        try {
            for (String order = line(orders); !order.isEmpty(); order = line(orders)) {
                say(answers, answer(order.split(" ")));
            }
        } catch (IOException gone) {
            Runtime.getRuntime().halt(1);
        }
    }

    private String answer(String[] words) throws IOException {
        boolean hasBody = words[0].equals("operations") || words[0].equals("rows");
        byte[] body = hasBody ? orders.readNBytes(Integer.parseInt(words[2])) : null;
        try {
            switch (words[0]) {
                case "work":
                    return worker.work(Long.parseLong(words[1])) + "\n";
                case "report":
                    String times = worker.report();
                    return "{\"opened\": " + worker.opened() + ", \"compiled_ms\": "
                            + COMPILER.getTotalCompilationTime() + ", \"bytes\": " + times.length() + "}\n" + times;
                case "operations":
                    worker.take(body, Integer.parseInt(words[1]));
                    return "{}\n";
                case "empty":
                    worker.empty();
                    return "{}\n";
                case "close":
                    worker.close();
                    return "{}\n";
                case "open":
                    JsonObject opened = new JsonObject();
                    opened.addProperty("version", worker.openAndTell());
                    return Terms.GSON.toJson(opened) + "\n";
                default:
                    JsonObject rows = new JsonObject();
                    String text = new String(body, StandardCharsets.UTF_8);
                    rows.add("rows", Terms.GSON.toJsonTree(worker.rows(Integer.parseInt(words[1]), text)));
                    return Terms.GSON.toJson(rows) + "\n";
            }
        } catch (Exception | LinkageError | OutOfMemoryError thrown) {
            return Terms.GSON.toJson(Failure.of(thrown).answer()) + "\n";
        }
    }
}
