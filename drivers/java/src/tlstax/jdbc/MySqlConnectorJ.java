// MySQL Connector/J: `sslMode` from 8.0.13 on, before that `useSSL` and its companions.
package tlstax.jdbc;

import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Stream;

/** Which words a version has is seen from the properties that it lists. */
final class MySqlConnectorJ implements Product {
    private static final Map<String, String> MODES =
            Map.of("none", "REQUIRED", "ca", "VERIFY_CA", "identity", "VERIFY_IDENTITY");

    @Override
    public String url(Terms.Endpoint endpoint, String database) throws Failure {
        if (endpoint.host == null) {
            throw Failure.badJob("Connector/J reaches no Unix socket by itself; give it a TCP endpoint");
        }
        return "jdbc:mysql://" + Product.authority(endpoint) + "/" + database;
    }

    @Override
    public void reach(Terms.Endpoint endpoint, Properties properties) {
        // The URL says it all.
    }

    @Override
    public Set<String> unlisted() {
        return Set.of("enabledTLSProtocols", "enabledSSLCipherSuites", "password");
    }

    @Override
    public void withoutTls(Set<String> known, Properties properties) {
        if (known.contains("sslMode")) {
            properties.setProperty("sslMode", "DISABLED");
        } else {
            properties.setProperty("useSSL", "false");
        }
    }

    @Override
    public void requireTls(Set<String> known, Properties properties) {
        if (known.contains("sslMode")) {
            properties.setProperty("sslMode", "REQUIRED");
        } else {
            // useSSL alone goes on in the clear where the server has no TLS.
            properties.setProperty("useSSL", "true");
            properties.setProperty("requireSSL", "true");
        }
    }

    @Override
    public void withTls(Terms.Tls tls, Set<String> known, Properties properties) throws Failure {
        boolean verifies = !tls.verify.equals("none");
        requireTls(known, properties);
        if (known.contains("sslMode")) {
            properties.setProperty("sslMode", MODES.get(tls.verify));
        } else if (tls.verify.equals("identity")) {
            throw Failure.badJob("this version of Connector/J cannot check the host name");
        } else {
            properties.setProperty("verifyServerCertificate", Boolean.toString(verifies));
        }
        String versions = Product.versions(tls);
        if (versions != null) {
            properties.setProperty(
                    nameForVersions(known).orElseThrow(() -> Failure.badJob(
                            "this version of Connector/J cannot be told which TLS versions to keep to")),
                    versions);
        }
        if (verifies && tls.caFile != null && !nameForVersions(known).isPresent()) {
            // 5.1.6 has properties for a trust store, and fails where there is none for the client too.
            Door.trust(tls.caFile);
        } else if (verifies && tls.caFile != null) {
            say("trust", Store.trusting(tls.caFile), properties);
        }
        if (tls.certificateFile != null) {
            say("client", Store.identity(tls.certificateFile, tls.keyFile), properties);
        }
    }

    /** What the property for TLS versions is called; empty before 5.1.44, where there is none. */
    private static Optional<String> nameForVersions(Set<String> known) {
        return Stream.of("tlsVersions", "enabledTLSProtocols").filter(known::contains).findFirst();
    }

    private static void say(String whose, Store store, Properties properties) {
        properties.setProperty(whose + "CertificateKeyStoreUrl", "file:" + store.path);
        properties.setProperty(whose + "CertificateKeyStoreType", Store.TYPE);
        properties.setProperty(whose + "CertificateKeyStorePassword", Store.PASSWORD);
    }
}
