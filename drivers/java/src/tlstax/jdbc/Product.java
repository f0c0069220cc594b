// What one kind of driver calls things: its URL, and how it is told to encrypt and what to verify.
package tlstax.jdbc;

import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Set;

/** The drivers differ in this alone; all else goes through JDBC. */
interface Product {
    /** The URL of the endpoint, without properties. `database` may be empty. */
    String url(Terms.Endpoint endpoint, String database) throws Failure;

    /** Adds what only this endpoint needs. */
    void reach(Terms.Endpoint endpoint, Properties properties) throws Failure;

    /** Adds the driver's words for no encryption at all. */
    void withoutTls(Set<String> known, Properties properties);

    /** Adds the driver's plainest word for required TLS: what it then verifies is its own default. */
    void requireTls(Set<String> known, Properties properties);

    /** Adds words for required TLS as the job has it. `known` are the properties that this version has. */
    void withTls(Terms.Tls tls, Set<String> known, Properties properties) throws Failure;

    /** Properties that the driver takes though it does not list them: older names. */
    Set<String> unlisted();

    static Product of(String name) {
        if (name.startsWith("pgjdbc")) {
            return new PostgresJdbc();
        }
        return name.startsWith("mariadb") ? new MariaDbConnectorJ() : new MySqlConnectorJ();
    }

    static String authority(Terms.Endpoint endpoint) {
        String host = endpoint.host.contains(":") ? "[" + endpoint.host + "]" : endpoint.host;
        return host + ":" + endpoint.port;
    }

    /**
     * The versions from the lowest to the highest, as Java names them and separated by commas; null where
     * neither is given. Without a lowest one, TLS 1.2 is, unless the highest is older.
     */
    static String versions(Terms.Tls tls) {
        if (tls.minVersion == null && tls.maxVersion == null) {
            return null;
        }
        List<String> all = List.of("1.0", "1.1", "1.2", "1.3");
        int highest = tls.maxVersion == null ? all.size() - 1 : all.indexOf(tls.maxVersion);
        int usual = Math.min(highest, all.indexOf("1.2"));
        int lowest = tls.minVersion == null ? usual : all.indexOf(tls.minVersion);
        List<String> named = new ArrayList<>();
        for (int version = lowest; version <= highest; version++) {
            named.add(version == 0 ? "TLSv1" : "TLSv" + all.get(version));
        }
        return String.join(",", named);
    }
}
