// What one operation is: statements with their parameters, and what is said on connecting.
package tlstax.jdbc;

import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;

/** Statements that together are one operation; with `reconnect`, on a connection of its own. */
final class Workload {
    final boolean reconnect;
    final List<String> onConnect;
    final List<Statement> statements;

    Workload(Fields fields) throws Failure {
        reconnect = fields.flag("reconnect");
        onConnect = fields.texts("on_connect");
        fields.refuse("mix", "drivers run statements, not a mix of transactions");
        fields.refuse("storm", "drivers do not open all their connections at once");
        boolean prepared = isPrepared(fields.text("protocol", "text"));
        statements = fields.objects("statements", statement -> new Statement(statement, prepared));
        if (statements.isEmpty()) {
            throw Failure.badJob("the workload has no statements");
        }
    }

    private static boolean isPrepared(String protocol) throws Failure {
        if (!protocol.equals("text") && !protocol.equals("prepared")) {
            throw Failure.badJob("there is no protocol `" + protocol + "`");
        }
        return protocol.equals("prepared");
    }

    boolean isReadOnly() {
        return statements.stream().allMatch(statement -> statement.sort == Sort.ROWS);
    }

    boolean canBeBatched() {
        Statement first = statements.get(0);
        return statements.size() == 1 && first.repeat == 1 && first.sort == Sort.CHANGE;
    }

    /** Which of JDBC's calls a statement is run by. */
    enum Sort {
        /** executeQuery. */
        ROWS,
        /** executeUpdate. */
        CHANGE,
        /** execute: whatever begins with none of these words, or with a comment. */
        OTHER;

        private static final Pattern SELECT = Pattern.compile("\\s*SELECT\\b.*", INSENSITIVE);
        private static final Pattern WRITE =
                Pattern.compile("\\s*(INSERT|UPDATE|DELETE|REPLACE)\\b.*", INSENSITIVE);

        static Sort of(String sql) {
            if (SELECT.matcher(sql).matches()) {
                return ROWS;
            }
            return WRITE.matcher(sql).matches() ? CHANGE : OTHER;
        }
    }

    private static final int INSENSITIVE = Pattern.CASE_INSENSITIVE | Pattern.DOTALL;

    /** One statement, run `repeat` times with values drawn anew. */
    static final class Statement {
        final Template template;
        final Sort sort;
        final boolean prepared;
        final int repeat;

        Statement(Fields fields, boolean workloadIsPrepared) throws Failure {
            String own = fields.text("protocol", null);
            prepared = own == null ? workloadIsPrepared : isPrepared(own);
            repeat = Math.toIntExact(fields.number("repeat", 1L));
            Map<String, Parameter> parameters = fields.objectsByName("parameters", Parameter::read);
            String sql = fields.text("sql");
            template = new Template(sql, parameters);
            sort = Sort.of(sql);
        }
    }

    /** What is drawn for a parameter. */
    static final class Parameter {
        final String kind;
        final long low;
        final long high;
        final String of;
        final String template;
        final List<String> values;
        final AtomicLong next;

        private Parameter(Fields fields) throws Failure {
            kind = fields.text("kind");
            boolean sequence = kind.equals("sequence");
            boolean even = kind.equals("uniform_int");
            boolean offset = kind.equals("offset");
            String lowest = sequence ? "first" : even ? "low" : offset ? "by" : null;
            String highest = sequence ? "last" : even ? "high" : null;
            low = lowest == null ? 0 : fields.number(lowest);
            high = highest == null ? 0 : fields.number(highest);
            of = offset ? fields.text("of") : null;
            template = kind.equals("digits") ? fields.text("template") : null;
            values = kind.equals("one_of") ? fields.texts("values") : null;
            next = sequence ? new AtomicLong(low) : null;
            if (!sequence && !even && !offset && template == null && values == null) {
                throw Failure.badJob("there is no parameter of the kind `" + kind + "`");
            }
        }

        static Parameter read(Fields fields) throws Failure {
            return new Parameter(fields);
        }
    }
}
