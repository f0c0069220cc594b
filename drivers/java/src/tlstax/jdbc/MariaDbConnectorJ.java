// MariaDB Connector/J 3: its own `sslMode`, certificates as PEM files.
package tlstax.jdbc;

import java.util.Map;
import java.util.Properties;
import java.util.Set;

/** Encrypts only where it is told to. */
final class MariaDbConnectorJ implements Product {
    private static final Map<String, String> MODES =
            Map.of("none", "trust", "ca", "verify-ca", "identity", "verify-full");

    @Override
    public String url(Terms.Endpoint endpoint, String database) {
        String where = endpoint.host == null ? "localhost" : Product.authority(endpoint);
        return "jdbc:mariadb://" + where + "/" + database;
    }

    @Override
    public void reach(Terms.Endpoint endpoint, Properties properties) {
        if (endpoint.path != null) {
            properties.setProperty("localSocket", endpoint.path);
        }
    }

    @Override
    public Set<String> unlisted() {
        return Set.of(
                "useSSL", "useSsl", "trustServerCertificate", "disableSslHostnameVerification",
                "enabledSSLProtocolSuites", "enabledSSLCipherSuites", "serverTimezone", "useBulkStmts");
    }

    @Override
    public void withoutTls(Set<String> known, Properties properties) {
        properties.setProperty("sslMode", "disable");
    }

    @Override
    public void requireTls(Set<String> known, Properties properties) {
        properties.setProperty("useSsl", "true");
    }

    @Override
    public void withTls(Terms.Tls tls, Set<String> known, Properties properties) throws Failure {
        properties.setProperty("sslMode", MODES.get(tls.verify));
        String versions = Product.versions(tls);
        if (versions != null) {
            properties.setProperty("enabledSslProtocolSuites", versions);
        }
        if (tls.caFile != null && !tls.verify.equals("none")) {
            properties.setProperty("serverSslCert", tls.caFile);
        }
        if (tls.certificateFile != null) {
            Store store = Store.identity(tls.certificateFile, tls.keyFile);
            properties.setProperty("keyStore", store.path);
            properties.setProperty("keyStoreType", Store.TYPE);
            properties.setProperty("keyStorePassword", Store.PASSWORD);
        }
    }
}
