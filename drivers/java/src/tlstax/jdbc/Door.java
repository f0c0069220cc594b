// Opens connections as the job says: the driver is loaded, told what it is to be told, and asked for one.
package tlstax.jdbc;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** All connections of a job are opened by the same words. */
final class Door {
    private static final Pattern VERSION = Pattern.compile("\\d+(\\.\\d+)+");

    private final String name;
    private final String url;
    private final Properties properties = new Properties();
    private final List<String> onConnect;

    /** Loads the driver. */
    Door(Terms terms) throws Failure {
        name = terms.name;
        onConnect = terms.onConnect;
        if (terms.tls.trustedCaFile != null) {
            trust(terms.tls.trustedCaFile);
        }
        if (terms.batch > 1 && terms.calls.get(0).sort() != Terms.Sort.CHANGE) {
            throw Failure.badJob("only a statement that reads no rows can be batched");
        }
        Product product = Product.of(name);
        url = product.url(terms.endpoint, terms.account.database == null ? "" : terms.account.database);
        Set<String> known = known();
        properties.setProperty("user", terms.account.user);
        properties.setProperty("password", terms.account.password);
        product.reach(terms.endpoint, properties);
        encrypt(product, terms.tls, known);
        known.addAll(product.unlisted());
        for (Map.Entry<String, String> option : terms.options.entrySet()) {
            if (!known.contains(option.getKey())) {
                throw Failure.badJob(name + " lists no option `" + option.getKey() + "`: it would ignore it");
            }
            // Names are alike whatever their case; what the job says takes the place of what was said.
            properties.keySet().removeIf(said -> said.toString().equalsIgnoreCase(option.getKey()));
            properties.setProperty(option.getKey(), option.getValue());
        }
    }

    /** What the runtime is to trust, as an administrator would have it: before any of it is loaded. */
    static void trust(String caFile) throws Failure {
        System.setProperty("javax.net.ssl.trustStore", Store.trusting(caFile).path);
        System.setProperty("javax.net.ssl.trustStoreType", Store.TYPE);
        System.setProperty("javax.net.ssl.trustStorePassword", Store.PASSWORD);
    }

    private void encrypt(Product product, Terms.Tls tls, Set<String> known) throws Failure {
        switch (tls.mode) {
            case "off":
                product.withoutTls(known, properties);
                break;
            case "on":
                product.withTls(tls, known, properties);
                break;
            case "required":
                product.requireTls(known, properties);
                break;
            default: // Unset: nothing is said.
        }
    }

    /** The properties that the driver itself lists. */
    private Set<String> known() throws Failure {
        Set<String> names = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
        try {
            Driver driver = DriverManager.getDriver(url);
            for (DriverPropertyInfo property : driver.getPropertyInfo(url, new Properties())) {
                names.add(property.name);
            }
        } catch (SQLException refused) {
            throw Failure.of(refused);
        }
        return names;
    }

    /** A new connection, logged in. */
    Connection open() throws SQLException {
        return DriverManager.getConnection(url, properties);
    }

    /** Says what is to be said on a connection before it is used. */
    void greet(Connection connection) throws SQLException {
        for (String sql : onConnect) {
            try (Statement statement = connection.createStatement()) {
                statement.execute(sql);
            }
        }
    }

    /** The driver's own word for its version, without its name. */
    static String driverVersion(DatabaseMetaData data) throws SQLException {
        Matcher found = VERSION.matcher(data.getDriverVersion());
        return found.find() ? found.group() : data.getDriverVersion();
    }
}
