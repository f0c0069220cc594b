// What a connection is, in the server's words: asked once while setting up, on that very connection.
package tlstax.jdbc;

import com.google.gson.JsonArray;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** TLS of one connection and who is at its other end. `version` is empty on plaintext. */
final class Negotiation {
    final String serverVersion;
    final String driverVersion;
    private final String version;
    private final String cipher;
    private final boolean resumed;

    private Negotiation(Connection connection, Map<String, String> status, String serverVersion)
            throws SQLException {
        this.serverVersion = serverVersion;
        driverVersion = Door.driverVersion(connection.getMetaData());
        version = status.getOrDefault("Ssl_version", "");
        cipher = status.getOrDefault("Ssl_cipher", "");
        resumed = !status.getOrDefault("Ssl_sessions_reused", "0").equals("0");
    }

    static Negotiation of(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            Map<String, String> status = new HashMap<>();
            try (ResultSet rows = statement.executeQuery("SHOW SESSION STATUS LIKE 'Ssl%'")) {
                while (rows.next()) {
                    status.put(rows.getString(1), rows.getString(2));
                }
            }
            try (ResultSet rows = statement.executeQuery("SELECT VERSION()")) {
                rows.next();
                return new Negotiation(connection, status, rows.getString(1));
            }
        }
    }

    /** MariaDB's count of resumed sessions stays 0 whatever happens. */
    private boolean tellsResumption() {
        return !serverVersion.contains("MariaDB");
    }

    private String key() {
        return version + " " + cipher + " " + resumed;
    }

    private JsonObject view() {
        JsonObject view = new JsonObject();
        view.addProperty("version", version);
        view.addProperty("cipher", cipher);
        view.addProperty("resumed", tellsResumption() ? Boolean.valueOf(resumed) : null);
        for (String unknown : List.of("group", "hello_retry", "certificate_key", "certificate_sha256")) {
            view.add(unknown, JsonNull.INSTANCE);
        }
        return view;
    }

    /** Connections that are alike, counted. No JDBC driver shows its TLS session. */
    static JsonArray grouped(List<Negotiation> all) {
        JsonArray groups = new JsonArray();
        Map<String, List<Negotiation>> alike = all.stream().collect(Collectors.groupingBy(Negotiation::key));
        for (List<Negotiation> members : new TreeMap<>(alike).values()) {
            Negotiation first = members.get(0);
            JsonObject group = new JsonObject();
            group.addProperty("connections", members.size());
            group.add("client", JsonNull.INSTANCE);
            group.add("server", first.version.isEmpty() ? JsonNull.INSTANCE : first.view());
            group.addProperty("client_tells", false);
            groups.add(group);
        }
        return groups;
    }
}
