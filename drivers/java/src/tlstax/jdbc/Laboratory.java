// What the laboratory says: the job, the lengths of slices, the end. Its going ends the process at once.
package tlstax.jdbc;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.OptionalDouble;

/**
 * Standard input, read by the main thread alone: a thread of its own for it would hand each line on, which
 * takes as long as waking up once more.
 */
final class Laboratory {
    /** No time is longer (contract/README.md). */
    private static final double YEAR_S = 365.25 * 86_400;

    private final BufferedReader input;

    Laboratory(InputStream stream) {
        input = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
    }

    /** The next line. Does not return when there is none. */
    String line() {
        String line = next();
        if (line == null) {
            Runtime.getRuntime().halt(1);
        }
        return line;
    }

    private String next() {
        try {
            return input.readLine();
        } catch (IOException broken) {
            return null;
        }
    }

    /** How long the next slice is to last; empty where there is none any more. Other lines mean nothing. */
    OptionalDouble nextSlice_s() throws Failure {
        while (true) {
            String line = line().trim();
            if (line.equals("go") || line.startsWith("go ")) {
                return OptionalDouble.of(length_s(line));
            }
            if (line.equals("end")) {
                return OptionalDouble.empty();
            }
        }
    }

    /** The number of seconds behind `go`. */
    private static double length_s(String line) throws Failure {
        double length_s;
        try {
            length_s = Double.parseDouble(line.substring("go".length()));
        } catch (NumberFormatException none) {
            length_s = Double.NaN;
        }
        if (!(length_s > 0 && length_s <= YEAR_S)) {
            throw Failure.badJob("`" + line
                    + "` has no length of a slice: a number of seconds above 0, a year at most");
        }
        return length_s;
    }

    /** Ends the process where the laboratory has gone while others work; takes nothing of what it says. */
    static void endWhereGone() {
        if (Linux.isHungUp(0)) {
            Runtime.getRuntime().halt(1);
        }
    }

    /** Returns when the laboratory says nothing any more. */
    void awaitEnd() {
        while (next() != null) {
            continue;
        }
    }
}
