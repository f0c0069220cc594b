// All connections' threads: sets them to work together, waits for them, and sees when one waits too long.
package tlstax.jdbc;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/** A platform thread for each connection. It stays, and between two tasks it is parked. */
final class Crew {
    private static final long LOOK_EVERY_NS = 100_000_000;

    /** What every worker is to do. */
    interface Task {
        void run(Worker worker) throws Failure;
    }

    private final List<Hand> hands = new ArrayList<>();
    private final Thread main = Thread.currentThread();
    private final AtomicInteger left = new AtomicInteger();
    private final AtomicReference<Throwable> thrown = new AtomicReference<>();
    private final double timeout_s;
    private final String name;

    Crew(String name, Door door, Job job) throws Failure {
        this.name = name;
        timeout_s = job.timeout_s;
        for (int number = 0; number < job.connections; number++) {
            hands.add(new Hand(new Worker(name, door, job, number)));
        }
        try {
            hands.forEach(Hand::start);
        } catch (OutOfMemoryError none) {
            throw new Failure("limits", "Java can start no thread more: raise `ulimit -u` or the memory");
        }
    }

    /** A thread with its worker: parked until it has a task. */
    private final class Hand extends Thread {
        final Worker worker;
        private volatile Task task;

        Hand(Worker worker) {
            this.worker = worker;
            setDaemon(true);
        }

        void give(Task next) {
            task = next;
            LockSupport.unpark(this);
        }

        @Override
        public void run() {
            while (true) {
                while (task == null) {
                    LockSupport.park(this);
                }
                Task taken = task;
                task = null;
                try {
                    taken.run(worker);
                } catch (Throwable mistake) {
                    thrown.compareAndSet(null, mistake);
                    LockSupport.unpark(main);
                }
                if (left.decrementAndGet() == 0) {
                    LockSupport.unpark(main);
                }
            }
        }
    }

    List<Negotiation> setUp() throws Failure {
        Negotiation[] found = new Negotiation[hands.size()];
        each(worker -> found[worker.number] = worker.setUp(), () -> {});
        return List.of(found);
    }

    /** Gives every worker a recorder with nothing in it. */
    Collection<Recorder> renewRecorders() {
        List<Recorder> recorders = new ArrayList<>();
        for (Hand hand : hands) {
            recorders.add(hand.worker.renewRecorder());
        }
        return recorders;
    }

    /** Works on a stage until its slice is over; the onlooker is called several times a second. */
    void work(Stage stage, Runnable onlooker) throws Failure {
        each(worker -> worker.work(stage), onlooker);
        stage.check();
    }

    private void each(Task task, Runnable onlooker) throws Failure {
        left.set(hands.size());
        for (Hand hand : hands) {
            hand.give(task);
        }
        long look_ns = System.nanoTime() + LOOK_EVERY_NS;
        while (left.get() > 0 && thrown.get() == null) {
            LockSupport.parkNanos(this, look_ns - System.nanoTime());
            if (System.nanoTime() >= look_ns) {
                look_ns += LOOK_EVERY_NS;
                Laboratory.endWhereGone();
                checkTimeouts();
                onlooker.run();
            }
        }
        Throwable mistake = thrown.get();
        if (mistake != null) {
            throw mistake instanceof Failure ? (Failure) mistake : Failure.of(mistake, name);
        }
    }

    /** Drivers are told no time limit, which would change how they read: a call that hangs ends the job. */
    private void checkTimeouts() throws Failure {
        long now = System.nanoTime();
        for (Hand hand : hands) {
            long since = hand.worker.waitingSince_ns();
            if (since != 0 && (now - since) / 1e9 > timeout_s) {
                throw new Failure("timeout", name + " waited more than " + timeout_s + " s for the server");
            }
        }
    }

    long openedEver() {
        return hands.stream().mapToLong(hand -> hand.worker.opened()).sum();
    }

    /** Hangs up on every connection. */
    void leave() {
        hands.forEach(hand -> hand.worker.leave());
    }
}
