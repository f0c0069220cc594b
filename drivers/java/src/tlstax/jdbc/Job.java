// The job as the laboratory writes it, checked once when it is read.
package tlstax.jdbc;

import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** All that this client is told; what it cannot do is refused here. Times are in seconds. */
final class Job {
    private static final long SCHEMA = 2;

    final Endpoint endpoint;
    final Account account;
    final Tls tls;
    final Workload workload;
    final int connections;
    final List<Integer> cpus = new ArrayList<>();
    final double warmup_s;
    final double duration_s;
    final Long operations;
    final double timeout_s;
    final long seed;
    final int rowSamples;
    final Driver driver;

    private Job(Fields fields) throws Failure {
        if (fields.number("schema", SCHEMA) != SCHEMA) {
            throw Failure.badJob("the job is of another version of the contract than " + SCHEMA);
        }
        endpoint = fields.object("endpoint", Endpoint::new);
        account = fields.object("account", Account::new);
        tls = fields.object("tls", Tls::new);
        workload = fields.object("workload", Workload::new);
        if (fields.object("schedule", Job::readSchedule, Boolean.FALSE)) {
            throw Failure.badJob("drivers keep no schedule: an operation begins when the last has ended");
        }
        connections = Math.toIntExact(fields.number("connections"));
        for (var cpu : fields.array("cpus")) {
            cpus.add(cpu.getAsInt());
        }
        warmup_s = fields.seconds("warmup_s", 0.1);
        duration_s = fields.seconds("duration_s", 0);
        operations = fields.number("operations", null);
        fields.refuse("reset", "a driver does all operations in one go");
        timeout_s = fields.seconds("timeout_s", 10);
        seed = fields.number("seed");
        rowSamples = Math.toIntExact(fields.number("row_samples", 16L));
        driver = fields.object("driver", Driver::new, new Driver());
        fields.ignore("threads", "rounds", "source_addresses", "attributes");
        if (connections < 1 || duration_s <= 0) {
            throw Failure.badJob("a job needs a connection and a duration");
        }
        if (driver.batch > 1 && !workload.canBeBatched()) {
            throw Failure.badJob("only a workload of one statement that reads no rows can be batched");
        }
    }

    /** Whether it is an open one. */
    private static Boolean readSchedule(Fields fields) throws Failure {
        fields.ignore("rate_per_s", "arrivals");
        return !fields.text("mode").equals("closed");
    }

    static Job read(String line) throws Failure {
        try (Fields fields = new Fields("the job", JsonParser.parseString(line))) {
            return new Job(fields);
        } catch (JsonParseException unreadable) {
            throw Failure.badJob("the job is no JSON");
        }
    }

    /** Where the server listens: a TCP port, or a Unix socket's path where `host` is null. */
    static final class Endpoint {
        final String host;
        final int port;
        final String path;

        Endpoint(Fields fields) throws Failure {
            boolean tcp = fields.text("kind").equals("tcp");
            host = tcp ? fields.text("host") : null;
            port = tcp ? Math.toIntExact(fields.number("port")) : 0;
            path = tcp ? null : fields.text("path");
        }
    }

    static final class Account {
        final String user;
        final String password;
        final String database;

        Account(Fields fields) throws Failure {
            user = fields.text("user");
            password = fields.text("password");
            database = fields.text("database", "");
        }
    }

    /**
     * What is asked of TLS; `mode` is off, on, required or unset. Files are PEM; versions "1.0" to "1.3" or
     * null.
     */
    static final class Tls {
        private static final List<String> NOT_TOLD = List.of(
                "cipher_list", "ciphersuites", "groups", "resumption", "weak_dh", "library", "keylog_file");

        final String mode;
        final String trustedCaFile;
        final String minVersion;
        final String maxVersion;
        final String verify;
        final String caFile;
        final String serverName;
        final String certificateFile;
        final String keyFile;

        Tls(Fields fields) throws Failure {
            mode = fields.text("mode");
            trustedCaFile = fields.text("trusted_ca_file", null);
            minVersion = fields.text("min_version", null);
            maxVersion = fields.text("max_version", null);
            verify = fields.text("verify", "none");
            caFile = fields.text("ca_file", null);
            serverName = fields.text("server_name", null);
            certificateFile = fields.text("certificate_file", null);
            keyFile = fields.text("key_file", null);
            for (String name : NOT_TOLD) {
                fields.refuse(name, "JDBC drivers have no word for it");
            }
        }
    }

    /** What is for drivers alone. */
    static final class Driver {
        final Map<String, String> options;
        final double steadyWithin_s;
        final int batch;

        Driver() {
            options = Map.of();
            steadyWithin_s = 0;
            batch = 1;
        }

        Driver(Fields fields) throws Failure {
            options = fields.textsByName("options");
            steadyWithin_s = fields.seconds("steady_within_s", 0);
            batch = Math.toIntExact(fields.number("batch", 1L));
        }
    }
}
