// Waiting after the warm-up until the runtime rests too: its compilers go on when the work has stopped.
package tlstax.jdbc;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** At the gate they would use a processor while another client is measured on it. */
final class Rest {
    private static final long LOOK_EVERY_MS = 20;
    private static final int LOOKS_AT_REST = 3;
    private static final int MOST_LOOKS = 150;

    private Rest() {}

    /** Returns when no other thread of this process had anything to do in three looks, or after 3 seconds. */
    static void await(Runnable onlooker) throws Failure {
        int atRest = 0;
        try {
            for (int look = 0; look < MOST_LOOKS && atRest < LOOKS_AT_REST; look++) {
                TimeUnit.MILLISECONDS.sleep(LOOK_EVERY_MS);
                onlooker.run();
                atRest = isAnyOtherRunnable() ? 0 : atRest + 1;
            }
        } catch (InterruptedException | IOException unexpected) {
            throw new Failure("internal", "our own threads cannot be seen: " + Words.of(unexpected));
        }
    }

    /** States, not CPU time, are looked at: a thread that waits for a processor uses none. */
    private static boolean isAnyOtherRunnable() throws IOException {
        String own = Path.of("/proc/thread-self").toRealPath().getFileName().toString();
        List<Path> threads;
        try (Stream<Path> all = Files.list(Path.of("/proc/self/task"))) {
            threads = all.collect(Collectors.toList());
        }
        for (Path thread : threads) {
            if (!thread.getFileName().toString().equals(own) && isRunnable(thread)) {
                return true;
            }
        }
        return false;
    }

    /** By proc(5): the state stands behind the name in parentheses. A thread that has ended is not. */
    private static boolean isRunnable(Path thread) {
        try {
            String stat = Files.readString(thread.resolve("stat"));
            return stat.charAt(stat.lastIndexOf(')') + 2) == 'R';
        } catch (IOException ended) {
            return false;
        }
    }
}
