// The PostgreSQL JDBC Driver (pgjdbc): libpq's words for `sslmode`, certificates as PEM files.
package tlstax.jdbc;

import java.util.Map;
import java.util.Properties;
import java.util.Set;

/** It asks for TLS and goes on without where there is none, unless it is told otherwise (`sslmode=prefer`). */
final class PostgresJdbc implements Product {
    private static final Map<String, String> MODES =
            Map.of("none", "require", "ca", "verify-ca", "identity", "verify-full");

    PostgresJdbc() {
        // Where it looks for root.crt and .pgpass: not in the home of whoever measures.
        System.setProperty("user.home", "/dev/null");
    }

    @Override
    public String url(Terms.Endpoint endpoint, String database) throws Failure {
        if (endpoint.host == null) {
            throw Failure.badJob("pgjdbc reaches no Unix socket by itself; give it a TCP endpoint");
        }
        return "jdbc:postgresql://" + Product.authority(endpoint) + "/" + database;
    }

    @Override
    public void reach(Terms.Endpoint endpoint, Properties properties) {
        // The URL says it all.
    }

    @Override
    public Set<String> unlisted() {
        return Set.of();
    }

    @Override
    public void withoutTls(Set<String> known, Properties properties) {
        properties.setProperty("sslmode", "disable");
    }

    @Override
    public void requireTls(Set<String> known, Properties properties) {
        properties.setProperty("sslmode", "require");
    }

    @Override
    public void withTls(Terms.Tls tls, Set<String> known, Properties properties) throws Failure {
        if (tls.certificateFile != null) {
            throw Failure.badJob("tls.certificate_file: pgjdbc takes a key as PKCS#12 or in DER, and not in PEM");
        }
        properties.setProperty("sslmode", MODES.get(tls.verify));
        if (tls.caFile != null && !tls.verify.equals("none")) {
            properties.setProperty("sslrootcert", tls.caFile);
        }
        String versions = Product.versions(tls);
        if (versions != null) {
            // It has no word for them; the runtime's own is read before the first connection.
            System.setProperty("jdk.tls.client.protocols", versions);
        }
        if (tls.direct) {
            if (!known.contains("sslNegotiation")) {
                throw Failure.badJob("this version of pgjdbc asks for TLS before it begins it");
            }
            properties.setProperty("sslNegotiation", "direct");
        }
    }
}
