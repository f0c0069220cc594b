// What happens at the two ends of a slice, done beforehand until the compiler has been through with it.
package tlstax.jdbc;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Collection;

/**
 * A warm-up has few slices of its own, and interpreted code takes several times as long to read `go` and to
 * say what was done. Nothing is heard or said here.
 */
final class Rehearsal {
    /** HotSpot compiles what was called 200 times (Tier3InvocationThreshold of -XX:+PrintFlagsFinal). */
    private static final int TIMES = 3000;

    private Rehearsal() {}

    static void run(Collection<Recorder> recorders) throws Failure {
        String lines = "go 0.0125\n".repeat(TIMES);
        InputStream said = new ByteArrayInputStream(lines.getBytes(StandardCharsets.UTF_8));
        Laboratory laboratory = new Laboratory(said);
        Events unheard = new Events(new PrintStream(OutputStream.nullOutputStream()));
        Window window = new Window(recorders);
        for (int time = 0; time < TIMES; time++) {
            window.openSlice(laboratory.nextSlice_s().getAsDouble());
            unheard.slice(window.closeSlice());
        }
    }
}
