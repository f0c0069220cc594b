// One connection, its stock of operations, and the times of what it did.
package tlstax.jdbc;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Used by its channel's thread alone. */
final class Worker {
    private static final byte BETWEEN_OPERATIONS = 0x1e;
    private static final char BETWEEN_FIELDS = 0x1f;
    /** Times of an operation beside those of its calls. */
    private static final int OTHER_TIMES = 4;

    private final Terms terms;
    private final Door door;
    private final Terms.Sort[] sorts;
    private Connection connection;
    private PreparedStatement[] prepared;
    private long opened;

    /** Operations as they came, where each begins, and the next; what is taken out at once is little garbage. */
    private byte[] stock = new byte[0];
    private int[] starts = new int[1];
    private int next;
    private int count;

    private long[] times = new long[0];
    private int timesKept;

    Worker(Terms terms, Door door) {
        this.terms = terms;
        this.door = door;
        sorts = terms.calls.stream().map(Terms.Call::sort).toArray(Terms.Sort[]::new);
    }

    long opened() {
        return opened;
    }

    /** Opens the connection; the driver's own word for its version. */
    String openAndTell() throws SQLException {
        open();
        prepare();
        return Door.driverVersion(connection.getMetaData());
    }

    private void open() throws SQLException {
        connection = door.open();
        opened++;
    }

    /** What is said before the first operation, and the statements that are prepared once. */
    private void prepare() throws SQLException {
        door.greet(connection);
        prepared = new PreparedStatement[terms.calls.size()];
        for (int at = 0; at < prepared.length; at++) {
            Terms.Call call = terms.calls.get(at);
            if (call.prepared) {
                prepared[at] = connection.prepareStatement(call.withMarks());
            }
        }
    }

    void close() throws SQLException {
        Connection closing = connection;
        connection = null;
        if (closing != null) {
            closing.close();
        }
    }

    /** Puts operations behind what is left, and makes room for the times of all. */
    void take(byte[] body, int operations) {
        int left = count - next;
        int[] begin = new int[left + operations + 1];
        int kept = left > 0 ? starts[count] - starts[next] : 0;
        byte[] all = Arrays.copyOf(left > 0 ? Arrays.copyOfRange(stock, starts[next], starts[count]) : body,
                kept + body.length + 1);
        System.arraycopy(body, 0, all, kept, body.length);
        all[kept + body.length] = BETWEEN_OPERATIONS;
        int found = 0;
        for (int at = 0; at < all.length; at++) {
            if (all[at] == BETWEEN_OPERATIONS) {
                begin[++found] = at + 1;
            }
        }
        stock = all;
        starts = begin;
        next = 0;
        count = found;
        times = Arrays.copyOf(times, timesKept + count * (sorts.length + OTHER_TIMES));
    }

    void empty() {
        count = next;
    }

    /** The times of all that was done since the last report. */
    String report() {
        StringBuilder told = new StringBuilder(timesKept * 17 + 1);
        for (int at = 0; at < timesKept; at++) {
            told.append(times[at]).append(' ');
        }
        timesKept = 0;
        return told.append('\n').toString();
    }

    /** Operation after operation until then; the answer. */
    String work(long until_ns) {
        int done = 0;
        while (next < count) {
            long began = System.nanoTime();
            if (began - until_ns >= 0) {
                break;
            }
            try {
                operate(began);
                done++;
            } catch (SQLException | RuntimeException | LinkageError thrown) {
                recover(thrown);
                com.google.gson.JsonObject answer = Failure.of(thrown).answer();
                answer.addProperty("operations", done);
                return Terms.GSON.toJson(answer);
            }
        }
        return "{\"operations\": " + done + "}";
    }

    private void recover(Throwable thrown) {
        boolean lost = !(thrown instanceof SQLException) || Failure.isLost((SQLException) thrown);
        if (lost || terms.reconnect) {
            try {
                close();
            } catch (SQLException | RuntimeException broken) {
                connection = null;
            }
        }
    }

    private void operate(long began) throws SQLException {
        int at = timesKept;
        long connected = began;
        long ready = began;
        int taken = Math.min(terms.batch, count - next);
        int first = next;
        next += taken;
        if (connection == null) {
            open();
            connected = System.nanoTime();
            prepare();
            ready = System.nanoTime();
        }
        times[at] = began;
        times[at + 1] = connected;
        times[at + 2] = ready;
        at += 3;
        if (terms.batch > 1) {
            runBatch(first, taken);
            times[at++] = System.nanoTime();
        } else {
            String fields = operation(first);
            for (int call = 0; call < sorts.length; call++) {
                fields = run(call, fields, null);
                times[at++] = System.nanoTime();
            }
        }
        if (terms.reconnect) {
            close();
            times[at] = System.nanoTime();
        } else {
            times[at] = times[at - 1];
        }
        timesKept = at + 1;
    }

    private String operation(int number) {
        int start = starts[number];
        return new String(stock, start, starts[number + 1] - 1 - start, StandardCharsets.UTF_8);
    }

    /** A call's rows, or those of a text by itself. */
    List<String[]> rows(int call, String fields) throws SQLException {
        List<String[]> rows = new ArrayList<>();
        if (call >= 0) {
            run(call, fields, rows);
            return rows;
        }
        try (Statement once = connection.createStatement(); ResultSet answer = once.executeQuery(fields)) {
            read(answer, rows);
        }
        return rows;
    }

    /** Runs a call, whose fields come first; the fields behind them. Rows are kept where that is not null. */
    private String run(int call, String fields, List<String[]> rows) throws SQLException {
        Terms.Call told = terms.calls.get(call);
        if (told.prepared) {
            String rest = bind(prepared[call], told.types, fields);
            runPrepared(prepared[call], sorts[call], rows);
            return rest;
        }
        int end = fields.indexOf(BETWEEN_FIELDS);
        String sql = end < 0 ? fields : fields.substring(0, end);
        try (Statement once = connection.createStatement()) {
            runText(once, sql, sorts[call], rows);
        }
        return end < 0 ? "" : fields.substring(end + 1);
    }

    private static void runPrepared(PreparedStatement bound, Terms.Sort sort, List<String[]> rows)
            throws SQLException {
        if (sort == Terms.Sort.ROWS) {
            try (ResultSet answer = bound.executeQuery()) {
                read(answer, rows);
            }
        } else if (sort == Terms.Sort.CHANGE) {
            bound.executeUpdate();
        } else {
            bound.execute();
        }
    }

    private static void runText(Statement once, String sql, Terms.Sort sort, List<String[]> rows)
            throws SQLException {
        if (sort == Terms.Sort.ROWS) {
            try (ResultSet answer = once.executeQuery(sql)) {
                read(answer, rows);
            }
        } else if (sort == Terms.Sort.CHANGE) {
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

    /** Binds the values that come first; the fields behind them. */
    private static String bind(PreparedStatement statement, String types, String fields) throws SQLException {
        int start = 0;
        for (int at = 0; at < types.length(); at++) {
            int found = fields.indexOf(BETWEEN_FIELDS, start);
            String field = fields.substring(start, found < 0 ? fields.length() : found);
            if (types.charAt(at) == 'i') {
                statement.setLong(at + 1, Long.parseLong(field));
            } else {
                statement.setString(at + 1, field);
            }
            start = found < 0 ? fields.length() : found + 1;
        }
        return fields.substring(start);
    }

    /** All operations in one call of executeBatch. */
    private void runBatch(int first, int taken) throws SQLException {
        Terms.Call call = terms.calls.get(0);
        if (call.prepared) {
            for (int at = 0; at < taken; at++) {
                bind(prepared[0], call.types, operation(first + at));
                prepared[0].addBatch();
            }
            prepared[0].executeBatch();
            return;
        }
        try (Statement once = connection.createStatement()) {
            for (int at = 0; at < taken; at++) {
                once.addBatch(operation(first + at));
            }
            once.executeBatch();
        }
    }
}
