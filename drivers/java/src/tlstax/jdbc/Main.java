// The conversation with the laboratory: a job in, events out. The one argument is the driver's name.
package tlstax.jdbc;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;

/** Reads the job, opens the connections, warms up, says `ready`, and measures from `go` on. */
final class Main {
    private static final double INTERVAL_S = 1;
    private static final CompilationMXBean COMPILER = ManagementFactory.getCompilationMXBean();

    private final String name;
    private final Events events;
    private final LinkedBlockingQueue<String> lines = new LinkedBlockingQueue<>();
    private final CountDownLatch inputEnded = new CountDownLatch(1);
    private volatile boolean done;

    private Main(String name, Events events) {
        this.name = name;
        this.events = events;
    }

    public static void main(String[] arguments) throws IOException {
        FileOutputStream output = new FileOutputStream(FileDescriptor.out);
        PrintStream out = new PrintStream(output, false, StandardCharsets.UTF_8);
        System.setOut(System.err); // What a driver may print is for people.
        Events events = new Events(out);
        int status = 0;
        try {
            new Main(arguments[0], events).converse();
        } catch (Failure failure) {
            events.error(failure);
            status = 1;
        } catch (RuntimeException | LinkageError | OutOfMemoryError | InterruptedException mistake) {
            mistake.printStackTrace();
            events.error(new Failure("internal", "the JDBC client failed: " + Words.of(mistake)));
            status = 1;
        }
        Runtime.getRuntime().halt(status);
    }

    private void converse() throws Failure, InterruptedException {
        Thread reader = new Thread(this::read, "input");
        reader.setDaemon(true);
        reader.start();
        Job job = Job.read(lines.take());
        Words.keepSecret(job.account.password);
        Linux.pin(job.cpus);
        Crew crew = new Crew(name, new Door(name, job), job);
        List<Negotiation> negotiations = crew.setUp();
        Steadiness steadiness = warmUp(job, crew);
        events.ready(name, negotiations.get(0), Negotiation.grouped(negotiations), steadiness);
        while (!lines.take().equals("go")) {
            continue;
        }
        measure(job, crew);
        inputEnded.await();
        crew.leave();
    }

    /**
     * Works as the window will, in slices that are stages of their own and keep samples: a compiler
     * undoes its work where something happens for the first time. Null where steadiness was not asked for.
     */
    private static Steadiness warmUp(Job job, Crew crew) throws Failure {
        boolean asked = job.driver.steadyWithin_s > 0;
        double longest_s = asked ? job.driver.steadyWithin_s : job.warmup_s;
        Steadiness steadiness = new Steadiness();
        long begin_ns = System.nanoTime();
        double elapsed_s = 0;
        double compiledBefore_s = COMPILER.getTotalCompilationTime() / 1e3;
        while (elapsed_s < longest_s && !(asked && steadiness.isReached())) {
            double cpuBefore_us = Linux.cpu_us();
            Stage slice = new Stage(Math.min(Steadiness.SLICE_S, longest_s - elapsed_s), null, samples(job));
            Collection<Recorder> recorders = crew.work(slice, INTERVAL_S, (slow_s, all) -> {});
            elapsed_s = (System.nanoTime() - begin_ns) / 1e9;
            double compiled_s = COMPILER.getTotalCompilationTime() / 1e3;
            double cpu_us = Linux.cpu_us() - cpuBefore_us;
            steadiness.add(elapsed_s, operations(recorders), cpu_us, compiled_s - compiledBefore_s);
            compiledBefore_s = compiled_s;
            if (slice.isExhausted()) {
                break;
            }
        }
        return asked ? steadiness : null;
    }

    /** Null where the workload changes what it reads. */
    private static Samples samples(Job job) {
        return job.workload.isReadOnly() ? new Samples(job.rowSamples) : null;
    }

    private static long operations(Collection<Recorder> recorders) {
        return recorders.stream().mapToLong(one -> one.operations.get()).sum();
    }

    private void measure(Job job, Crew crew) throws Failure {
        Samples samples = samples(job);
        long[] told = {0, 0};
        Window window = new Window();
        Stage stage = new Stage(job.duration_s, job.operations, samples);
        Collection<Recorder> recorders = crew.work(stage, INTERVAL_S, (elapsed_s, all) -> {
            long operations = operations(all);
            long failures = all.stream().mapToLong(one -> one.failures.get()).sum();
            events.interval(elapsed_s, operations - told[0], failures - told[1]);
            told[0] = operations;
            told[1] = failures;
        });
        long last_ns = recorders.stream().mapToLong(one -> one.lastAnswer_ns).max().orElse(0);
        window.close(stage.begin_ns, last_ns);
        done = true; // Before the event is out, after which the input may end at any time.
        events.done(window, recorders, crew.openedEver(), samples);
    }

    /** Lines go to the conversation; the end of input before `done` means that the laboratory is gone. */
    private void read() {
        try (InputStreamReader text = new InputStreamReader(System.in, StandardCharsets.UTF_8);
                BufferedReader input = new BufferedReader(text)) {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                lines.add(line);
            }
        } catch (IOException gone) {
            System.err.println("standard input broke: " + Words.of(gone));
        }
        if (!done) {
            Runtime.getRuntime().halt(1);
        }
        inputEnded.countDown();
    }
}
