// Statements as they were run and the rows that came back, for the laboratory to check.
package tlstax.jdbc;

import com.google.gson.JsonArray;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** The first answers of a window, over all threads. */
final class Samples {
    private static final int MOST_ROWS = 20_000;

    private final AtomicInteger left;
    private final JsonArray taken = new JsonArray();

    Samples(int wanted) {
        left = new AtomicInteger(wanted);
    }

    /** Whether the next answer is to be kept. */
    boolean wanted() {
        return left.get() > 0 && left.getAndDecrement() > 0;
    }

    synchronized void keep(String sql, List<String[]> rows) {
        if (rows.size() > MOST_ROWS) {
            return;
        }
        JsonArray values = new JsonArray();
        for (String[] row : rows) {
            JsonArray cells = new JsonArray();
            for (String cell : row) {
                if (cell == null) {
                    cells.add(JsonNull.INSTANCE);
                } else {
                    cells.add(cell);
                }
            }
            values.add(cells);
        }
        JsonObject sample = new JsonObject();
        sample.addProperty("sql", sql);
        sample.add("rows", values);
        taken.add(sample);
    }

    synchronized JsonArray json() {
        return taken;
    }
}
