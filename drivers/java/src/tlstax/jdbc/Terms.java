// What the host says before all else (drivers/ADAPTERS.md), read by Gson into fields of the same names.
package tlstax.jdbc;

import com.google.gson.FieldNamingPolicy;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** The job as far as an adapter is told of it. What the host leaves out or says to be null is null. */
final class Terms {
    static final Gson GSON = new GsonBuilder()
            .setFieldNamingPolicy(FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES)
            .serializeNulls()
            .create();

    String name;
    int[][] channels;
    Endpoint endpoint;
    Account account;
    Tls tls;
    Map<String, String> options;
    List<String> onConnect;
    boolean reconnect;
    List<Call> calls;
    int batch;

    /** A TCP port, or a Unix socket's path where `host` is null. */
    static final class Endpoint {
        String host;
        int port;
        String path;
    }

    static final class Account {
        String user;
        String password;
        String database;
    }

    static final class Tls {
        String mode;
        String trustedCaFile;
        String minVersion;
        String maxVersion;
        String verify;
        String caFile;
        String certificateFile;
        String keyFile;
        boolean direct;
    }

    /** Which of JDBC's calls a statement is run by. */
    enum Sort {
        /** executeQuery. */
        ROWS,
        /** executeUpdate. */
        CHANGE,
        /** execute: whatever begins with none of these words, or with a comment. */
        OTHER;

        private static final int INSENSITIVE = Pattern.CASE_INSENSITIVE | Pattern.DOTALL;
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

    /** A statement that is run once in an operation. */
    static final class Call {
        List<String> pieces;
        String types;
        boolean prepared;

        String withMarks() {
            return String.join("?", pieces);
        }

        Sort sort() {
            return Sort.of(withMarks());
        }
    }
}
