// One connection and the thread that works on it: opens it, runs operations, opens it anew when it is lost.
package tlstax.jdbc;

import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import tlstax.jdbc.Recorder.Phase;

/** Only one thread works on it at a time; others may ask how long it has waited. */
final class Worker {
    final int number;
    private final String name;
    private final Door door;
    private final Workload workload;
    private final int batch;
    private final SplittableRandom random;
    private final AtomicLong waitingSince_ns = new AtomicLong();
    private Connection connection;
    private PreparedStatement[] prepared;
    private boolean first;
    private Recorder recorder = new Recorder();
    private long opened;

    Worker(String name, Door door, Job job, int number) {
        this.number = number;
        this.name = name;
        this.door = door;
        workload = job.workload;
        batch = job.driver.batch;
        random = new SplittableRandom(job.seed * 0x9e3779b97f4a7c15L + number);
    }

    /** Connects, asks what was negotiated, and keeps the connection unless each operation has its own. */
    Negotiation setUp() throws Failure {
        try {
            open();
            Negotiation negotiation = Negotiation.of(connection);
            if (workload.reconnect) {
                close();
            } else {
                prepare();
            }
            return negotiation;
        } catch (SQLException | RuntimeException | LinkageError thrown) {
            throw Failure.of(thrown, name);
        } finally {
            waitingSince_ns.lazySet(0);
        }
    }

    private void open() throws SQLException {
        waitingSince_ns.lazySet(System.nanoTime());
        connection = door.open();
        opened++;
        recorder.connections++;
        first = true;
    }

    /** What is said before the first operation, and the statements that are prepared once. */
    private void prepare() throws SQLException {
        door.greet(connection);
        prepared = new PreparedStatement[workload.statements.size()];
        for (int at = 0; at < prepared.length; at++) {
            Workload.Statement statement = workload.statements.get(at);
            if (statement.prepared) {
                prepared[at] = connection.prepareStatement(statement.template.withMarks());
            }
        }
    }

    private void close() throws SQLException {
        Connection closing = connection;
        connection = null;
        closing.close();
    }

    /** Hangs up, whatever state the connection is in. */
    void leave() {
        if (connection != null) {
            try {
                close();
            } catch (SQLException | RuntimeException broken) {
                connection = null;
            }
        }
    }

    /** Begins a stage with nothing recorded. */
    Recorder renewRecorder() {
        recorder = new Recorder();
        return recorder;
    }

    long opened() {
        return opened;
    }

    /** Since when this thread waits for the driver, by System.nanoTime; 0 where it does not. */
    long waitingSince_ns() {
        return waitingSince_ns.get();
    }

    /** Operation after operation, until the stage's slice is over. */
    void work(Stage stage) {
        for (int count = stage.take(batch); count > 0; count = stage.take(batch)) {
            Object[][] values = draw(count);
            if (values == null) {
                stage.exhaust();
                break;
            }
            recorder.scheduled += count;
            operate(stage, values, count);
        }
        waitingSince_ns.lazySet(0);
    }

    /** The values of all statements of so many operations; null where a sequence has come to its end. */
    private Object[][] draw(int count) {
        List<Object[]> drawn = new ArrayList<>(count);
        for (int operation = 0; operation < count; operation++) {
            for (Workload.Statement statement : workload.statements) {
                for (int time = 0; time < statement.repeat; time++) {
                    Object[] values = statement.template.draw(random);
                    if (values == null) {
                        return null;
                    }
                    drawn.add(values);
                }
            }
        }
        return drawn.toArray(new Object[0][]);
    }

    private void operate(Stage stage, Object[][] values, int count) {
        long begin = System.nanoTime();
        try {
            if (workload.reconnect) {
                open();
                recorder.record(Phase.CONNECT, System.nanoTime() - begin);
                prepare();
            } else if (connection == null) {
                open();
                prepare();
            }
            if (batch > 1) {
                runBatch(values);
            } else {
                runAll(stage, values);
            }
            if (workload.reconnect) {
                long closing = begin();
                close();
                recorder.record(Phase.CLOSE, System.nanoTime() - closing);
            }
            recorder.lastAnswer_ns = System.nanoTime();
            recorder.succeeded(count, recorder.lastAnswer_ns - begin);
            stage.succeeded();
        } catch (SQLException | RuntimeException | LinkageError thrown) {
            recorder.lastAnswer_ns = System.nanoTime();
            fail(stage, thrown, count);
        }
    }

    private void fail(Stage stage, Throwable thrown, int count) {
        Failure failure = Failure.of(thrown, name);
        long failed = count;
        if (thrown instanceof BatchUpdateException) {
            failed = failedOf(((BatchUpdateException) thrown).getUpdateCounts(), count);
            recorder.succeeded(count - failed);
        }
        recorder.failed(failure, failed);
        stage.failed(failure);
        boolean lost = !(thrown instanceof SQLException) || Failure.isLost((SQLException) thrown);
        if (workload.reconnect || lost) {
            leave();
        }
    }

    /** How many of a batch failed: those marked as failed, and those that the driver did not come to. */
    private static long failedOf(int[] counts, int count) {
        long succeeded = 0;
        for (int updated : counts) {
            succeeded += updated == Statement.EXECUTE_FAILED ? 0 : 1;
        }
        return Math.max(1, count - succeeded);
    }

    private long begin() {
        long now = System.nanoTime();
        waitingSince_ns.lazySet(now);
        return now;
    }

    private void recordQuery(long begin) {
        recorder.record(first ? Phase.FIRST_QUERY : Phase.QUERY, System.nanoTime() - begin);
        first = false;
    }

    private void runAll(Stage stage, Object[][] values) throws SQLException {
        int drawn = 0;
        for (int at = 0; at < workload.statements.size(); at++) {
            Workload.Statement statement = workload.statements.get(at);
            for (int time = 0; time < statement.repeat; time++) {
                run(stage, statement, prepared[at], values[drawn++]);
            }
        }
    }

    private void run(Stage stage, Workload.Statement statement, PreparedStatement bound, Object[] values)
            throws SQLException {
        boolean sampled = stage.samples != null && stage.samples.wanted();
        List<String[]> rows = sampled ? new ArrayList<>() : null;
        if (statement.prepared) {
            Object[] ordered = statement.template.inOrder(values);
            long begin = begin();
            bind(bound, ordered);
            runPrepared(bound, statement.sort, rows);
            recordQuery(begin);
        } else {
            String sql = statement.template.literal(values);
            long begin = begin();
            try (Statement once = connection.createStatement()) {
                runText(once, sql, statement.sort, rows);
            }
            recordQuery(begin);
        }
        if (sampled) {
            stage.samples.keep(statement.template.literal(values), rows);
        }
    }

    private static void runPrepared(PreparedStatement bound, Workload.Sort sort, List<String[]> rows)
            throws SQLException {
        if (sort == Workload.Sort.ROWS) {
            try (ResultSet answer = bound.executeQuery()) {
                read(answer, rows);
            }
        } else if (sort == Workload.Sort.CHANGE) {
            bound.executeUpdate();
        } else {
            bound.execute();
        }
    }

    private static void runText(Statement once, String sql, Workload.Sort sort, List<String[]> rows)
            throws SQLException {
        if (sort == Workload.Sort.ROWS) {
            try (ResultSet answer = once.executeQuery(sql)) {
                read(answer, rows);
            }
        } else if (sort == Workload.Sort.CHANGE) {
            once.executeUpdate(sql);
        } else {
            once.execute(sql);
        }
    }

    /** Reads every value, as a program that wants them would; keeps them where `rows` is not null. */
    private static void read(ResultSet answer, List<String[]> rows) throws SQLException {
        int columns = answer.getMetaData().getColumnCount();
        while (answer.next()) {
            String[] row = new String[columns];
            for (int column = 0; column < columns; column++) {
                row[column] = answer.getString(column + 1);
            }
            if (rows != null) {
                rows.add(row);
            }
        }
    }

    private static void bind(PreparedStatement statement, Object[] values) throws SQLException {
        for (int at = 0; at < values.length; at++) {
            if (values[at] instanceof Long) {
                statement.setLong(at + 1, (Long) values[at]);
            } else {
                statement.setString(at + 1, (String) values[at]);
            }
        }
    }

    /** All operations in one call of executeBatch. */
    private void runBatch(Object[][] values) throws SQLException {
        Workload.Statement statement = workload.statements.get(0);
        long begin = begin();
        if (statement.prepared) {
            for (Object[] drawn : values) {
                bind(prepared[0], statement.template.inOrder(drawn));
                prepared[0].addBatch();
            }
            prepared[0].executeBatch();
        } else {
            try (Statement once = connection.createStatement()) {
                for (Object[] drawn : values) {
                    once.addBatch(statement.template.literal(drawn));
                }
                once.executeBatch();
            }
        }
        recordQuery(begin);
    }
}
