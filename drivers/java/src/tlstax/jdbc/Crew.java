// All connections' threads: starts them on a stage, waits for them, and sees when one waits too long.
package tlstax.jdbc;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A platform thread for each connection. */
final class Crew {
    private static final double LOOK_EVERY_S = 0.1;

    private final List<Worker> workers = new ArrayList<>();
    private final ExecutorService threads;
    private final double timeout_s;
    private final String name;

    Crew(String name, Door door, Job job) {
        this.name = name;
        timeout_s = job.timeout_s;
        threads = Executors.newFixedThreadPool(job.connections, work -> {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            return thread;
        });
        for (int number = 0; number < job.connections; number++) {
            workers.add(new Worker(name, door, job, number));
        }
    }

    List<Negotiation> setUp() throws Failure {
        List<Future<Negotiation>> begun = new ArrayList<>();
        for (Worker worker : workers) {
            begun.add(submit(worker::setUp));
        }
        List<Negotiation> found = new ArrayList<>();
        for (Future<Negotiation> one : begun) {
            while (!waitFor(one, LOOK_EVERY_S)) {
                checkTimeouts();
            }
            found.add(resultOf(one));
        }
        return found;
    }

    private <T> Future<T> submit(Callable<T> work) throws Failure {
        try {
            return threads.submit(work);
        } catch (OutOfMemoryError none) {
            throw new Failure("limits", "Java can start no thread more: raise `ulimit -u` or the memory");
        }
    }

    /** Something that is told how far a stage is. */
    interface Onlooker {
        void look(double elapsed_s, Collection<Recorder> recorders);
    }

    /** Works on a stage until it is over, calling the onlooker every so often; gives what was recorded. */
    Collection<Recorder> work(Stage stage, double every_s, Onlooker onlooker) throws Failure {
        List<Recorder> recorders = new ArrayList<>();
        List<Future<Void>> begun = new ArrayList<>();
        for (Worker worker : workers) {
            recorders.add(worker.renewRecorder());
        }
        for (Worker worker : workers) {
            begun.add(submit(() -> worker.work(stage)));
        }
        double next_s = every_s;
        for (Future<Void> one : begun) {
            while (!waitFor(one, next_s - sinceBegin(stage))) {
                double now_s = sinceBegin(stage);
                if (now_s >= next_s) {
                    onlooker.look(now_s, recorders);
                    next_s += every_s;
                }
                checkTimeouts();
            }
            resultOf(one);
        }
        stage.check();
        return recorders;
    }

    private static double sinceBegin(Stage stage) {
        return (System.nanoTime() - stage.begin_ns) / 1e9;
    }

    private static boolean waitFor(Future<?> one, double longest_s) throws Failure {
        try {
            one.get(Math.max(1, (long) (longest_s * 1e9)), TimeUnit.NANOSECONDS);
            return true;
        } catch (TimeoutException notYet) {
            return false;
        } catch (ExecutionException itsOwn) {
            return true;
        } catch (InterruptedException interrupted) {
            throw new Failure("internal", "the client was interrupted");
        }
    }

    private <T> T resultOf(Future<T> one) throws Failure {
        try {
            return one.get();
        } catch (ExecutionException thrown) {
            throw thrown.getCause() instanceof Failure
                    ? (Failure) thrown.getCause()
                    : Failure.of(thrown.getCause(), name);
        } catch (InterruptedException interrupted) {
            throw new Failure("internal", "the client was interrupted");
        }
    }

    /** Drivers are told no time limit, which would change how they read: a call that hangs ends the job. */
    private void checkTimeouts() throws Failure {
        long now = System.nanoTime();
        for (Worker worker : workers) {
            long since = worker.waitingSince_ns();
            if (since != 0 && (now - since) / 1e9 > timeout_s) {
                throw new Failure("timeout", name + " waited more than " + timeout_s + " s for the server");
            }
        }
    }

    long openedEver() {
        return workers.stream().mapToLong(Worker::opened).sum();
    }

    /** Hangs up on every connection. */
    void leave() {
        workers.forEach(Worker::leave);
    }
}
