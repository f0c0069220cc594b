// The conversation with the laboratory: a job in, events out. The one argument is the driver's name.
package tlstax.jdbc;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.OptionalDouble;

/** Reads the job, opens the connections, warms up, says `ready`, and works for a slice at each `go`. */
final class Main {
    private static final CompilationMXBean COMPILER = ManagementFactory.getCompilationMXBean();

    private final String name;
    private final Events events;
    private final Laboratory laboratory = new Laboratory(System.in);

    private Main(String name, Events events) {
        this.name = name;
        this.events = events;
    }

    public static void main(String[] arguments) {
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
        } catch (RuntimeException | LinkageError | OutOfMemoryError mistake) {
            mistake.printStackTrace();
            events.error(new Failure("internal", "the JDBC client failed: " + Words.of(mistake)));
            status = 1;
        }
        Runtime.getRuntime().halt(status);
    }

    private void converse() throws Failure {
        Job job = Job.read(laboratory.line());
        Words.keepSecret(job.account.password);
        Linux.pin(job.cpus);
        Crew crew = new Crew(name, new Door(name, job), job);
        List<Negotiation> negotiations = crew.setUp();
        Rehearsal.run(crew.renewRecorders());
        Steadiness steadiness = warmUp(job, crew);
        Rest.await(Laboratory::endWhereGone);
        Samples samples = samples(job);
        Stage stage = new Stage(job.operations, samples);
        Window window = new Window(crew.renewRecorders());
        events.ready(name, negotiations.get(0), Negotiation.grouped(negotiations), steadiness);
        measure(crew, stage, window);
        events.done(window, crew.openedEver(), samples);
        laboratory.awaitEnd();
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
            Stage stage = new Stage(null, samples(job));
            Window window = new Window(crew.renewRecorders());
            double length_s = Math.min(Steadiness.SLICE_S, longest_s - elapsed_s);
            stage.beginSlice(window.openSlice(length_s), length_s);
            crew.work(stage, () -> {});
            Slice slice = window.closeSlice();
            elapsed_s = (System.nanoTime() - begin_ns) / 1e9;
            double compiled_s = COMPILER.getTotalCompilationTime() / 1e3;
            steadiness.add(elapsed_s, slice.operations, slice.cpu_us, compiled_s - compiledBefore_s);
            compiledBefore_s = compiled_s;
            if (stage.isExhausted()) {
                break;
            }
        }
        return asked ? steadiness : null;
    }

    /** Null where the workload changes what it reads. */
    private static Samples samples(Job job) {
        return job.workload.isReadOnly() ? new Samples(job.rowSamples) : null;
    }

    /** A slice for each `go`, until `end`. */
    private void measure(Crew crew, Stage stage, Window window) throws Failure {
        OptionalDouble next_s = laboratory.nextSlice_s();
        while (next_s.isPresent()) {
            double length_s = next_s.getAsDouble();
            stage.beginSlice(window.openSlice(length_s), length_s);
            crew.work(stage, () -> window.tell(events));
            events.slice(window.closeSlice());
            next_s = laboratory.nextSlice_s();
        }
        if (!window.hasSlices()) {
            throw Failure.badJob("`end` came before the first `go`: nothing was measured");
        }
    }
}
