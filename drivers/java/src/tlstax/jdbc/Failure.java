// What went wrong: the contract's kind, the driver's words in one sentence, the error's number.
package tlstax.jdbc;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateException;
import java.sql.SQLException;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;

/** A job that cannot go on, or an operation that failed. `code` is MySQL's number, PostgreSQL's SQLSTATE, or null. */
final class Failure extends Exception {
    private static final long serialVersionUID = 1L;

    /**
     * Error numbers with which a login ends: access denied (1044, 1045, 1698), a host that is not allowed, an
     * expired password, a locked account, and a plugin that one side does not have (1251, 1524, 2059).
     */
    private static final Set<Integer> LOGIN_REFUSED =
            Set.of(1044, 1045, 1130, 1251, 1524, 1698, 1820, 1862, 2059, 3118);

    /** What drivers say themselves when they cannot or will not log in by the account's plugin. */
    private static final Pattern PLUGIN_REFUSED = words(
            "public key retrieval|rsa public key|authentication (plugin|protocol)|unable to load auth");

    /** MariaDB's driver says so of a server that it does not trust, and blames the plugin or the link. */
    private static final Pattern NOT_TRUSTED =
            words("self signed certificate|hostname verification failed");

    private static final Pattern NO_TLS =
            words("ssl .*not (supported|provided|enabled)|not supported by server|does not support ssl");

    private static final Pattern CERTIFICATE =
            words("certificate(?!_required)|PKIX|trust anchor|host ?name|DNS name|alternative name");

    private static final Pattern NOT_MYSQL = words("protocol version|unexpected (greeting|handshake)");

    /** What drivers say of an option that they will not have. */
    private static final Pattern OPTION_REFUSED =
            words("the connection property|wrong argument|accepted values|invalid sslmode value");

    private static Pattern words(String expression) {
        return Pattern.compile(expression, Pattern.CASE_INSENSITIVE);
    }

    private static final int LONGEST_CHARS = 600;

    final String kind;
    private final String by;
    private final String state;
    private final Integer code;

    private Failure(String kind, String words, Integer code, String state, String by) {
        super(words, null, false, false);
        this.state = state;
        this.kind = kind;
        this.code = code;
        this.by = by;
    }

    /** What this adapter cannot do, in its own words. */
    static Failure badJob(String words) {
        return new Failure("bad_job", words, null, null, "adapter");
    }

    /** What a driver threw, or what this adapter refused. */
    static Failure of(Throwable thrown) {
        if (thrown instanceof Failure) {
            return (Failure) thrown;
        }
        int number = thrown instanceof SQLException ? ((SQLException) thrown).getErrorCode() : 0;
        Integer code = number > 0 ? Integer.valueOf(number) : null;
        String state = stateOf(thrown);
        boolean ofServer = state != null && !said(thrown, OPTION_REFUSED);
        String kind = ofServer ? kindOfState(state) : kindOf(thrown, number);
        return new Failure(kind, words(thrown), code, state, "driver");
    }

    /** As an answer to the host. */
    JsonObject answer() {
        JsonObject told = new JsonObject();
        told.addProperty("kind", kind);
        told.addProperty("words", getMessage());
        if (state == null) {
            told.addProperty("code", code);
        } else {
            told.addProperty("code", state);
        }
        told.addProperty("by", by);
        JsonObject answer = new JsonObject();
        answer.add("failure", told);
        return answer;
    }

    /** One sentence of what was thrown and of what caused it: no stack trace, nothing said twice. */
    static String words(Throwable thrown) {
        Set<String> said = new LinkedHashSet<>();
        for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
            String words = firstOf(cause.getMessage());
            if (said.stream().noneMatch(before -> before.contains(words))) {
                said.add(words);
            }
        }
        String all = said.isEmpty() ? thrown.getClass().getName() : String.join(": ", said);
        return all.length() > LONGEST_CHARS ? all.substring(0, LONGEST_CHARS) + "…" : all;
    }

    /** The message up to where Connector/J 5.1 prints the stack trace of its cause, in one line. */
    private static String firstOf(String message) {
        if (message == null) {
            return "";
        }
        int trace = message.indexOf("** BEGIN NESTED EXCEPTION **");
        String kept = trace >= 0 ? message.substring(0, trace) : message;
        int stack = kept.indexOf("\n\tat ");
        return (stack >= 0 ? kept.substring(0, stack) : kept).replaceAll("\\s+", " ").trim();
    }

    /** What PostgreSQL itself says; null of any other, and of what its driver says in the server's place (class 08). */
    private static String stateOf(Throwable thrown) {
        if (!thrown.getClass().getName().equals("org.postgresql.util.PSQLException")) {
            return null;
        }
        String state = ((SQLException) thrown).getSQLState();
        return state == null || state.startsWith("08") || thrown.getCause() != null ? null : state;
    }

    /** By a SQLSTATE's class, or itself (PostgreSQL's documentation, "Error Codes"). */
    private static String kindOfState(String state) {
        if (state.startsWith("28")) {
            return "access_denied";
        }
        if (state.matches("57P0[123]")) {
            return "server_closed";
        }
        return state.equals("53300") ? "limits" : "server_error";
    }

    private static String kindOf(Throwable thrown, int number) {
        if (said(thrown, NOT_TRUSTED)) {
            return "certificate";
        }
        if (said(thrown, OPTION_REFUSED)) {
            return "bad_job";
        }
        if (LOGIN_REFUSED.contains(number) || said(thrown, PLUGIN_REFUSED)) {
            return "access_denied";
        }
        String kind = kindOfCause(thrown);
        if (kind != null) {
            return kind;
        }
        if (said(thrown, NO_TLS)) {
            return "no_tls";
        }
        if (!(thrown instanceof SQLException)) {
            return thrown instanceof OutOfMemoryError ? "limits" : "internal";
        }
        if (said(thrown, NOT_MYSQL)) {
            return "not_mysql";
        }
        if (number > 0) {
            return "server_error";
        }
        if (wasRefused((SQLException) thrown)) {
            return "bad_job";
        }
        return isLost((SQLException) thrown) ? "server_closed" : "internal";
    }

    /** The kind of what the Java runtime said underneath; null where it tells nothing. */
    private static String kindOfCause(Throwable thrown) {
        if (has(thrown, e -> e instanceof UnknownHostException)) {
            return "resolve";
        }
        if (has(thrown, e -> e instanceof BindException || saidOf(e, "too many open files"))) {
            return "limits";
        }
        if (has(thrown, e -> e instanceof ConnectException || e instanceof NoRouteToHostException)) {
            return "connect";
        }
        if (has(thrown, e -> e instanceof SocketTimeoutException)) {
            return "timeout";
        }
        if (has(thrown, e -> e instanceof CertificateException || e instanceof CertPathValidatorException)) {
            return "certificate";
        }
        if (has(thrown, e -> e instanceof SSLException)) {
            return said(thrown, CERTIFICATE) ? "certificate" : "tls_handshake";
        }
        // Drivers pack what TLS and sockets say into their own exceptions, some of them as text alone.
        if (has(thrown, e -> saidOf(e, "sslhandshakeexception", "no appropriate protocol"))) {
            return said(thrown, CERTIFICATE) ? "certificate" : "tls_handshake";
        }
        return null;
    }

    /** Whether the driver would not have what it was told: an option that it refuses. */
    private static boolean wasRefused(SQLException thrown) {
        return "01S00".equals(thrown.getSQLState())
                || has(thrown, e -> e instanceof IllegalArgumentException
                        || e.getClass().getName().matches(".*(WrongArgument|InvalidConnectionAttribute).*"));
    }

    /** Whether the connection is gone, so that only a new one can go on (SQLSTATE class 08). */
    static boolean isLost(SQLException thrown) {
        String state = thrown.getSQLState();
        return state != null && state.startsWith("08") || has(thrown, e -> e instanceof IOException);
    }

    private static boolean said(Throwable thrown, Pattern words) {
        return has(thrown, e -> e.getMessage() != null && words.matcher(e.getMessage()).find());
    }

    private static boolean saidOf(Throwable thrown, String... lowered) {
        String message = String.valueOf(thrown.getMessage()).toLowerCase(Locale.ROOT);
        for (String words : lowered) {
            if (message.contains(words)) {
                return true;
            }
        }
        return false;
    }

    private static boolean has(Throwable thrown, Predicate<Throwable> wanted) {
        for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
            if (wanted.test(cause)) {
                return true;
            }
        }
        return false;
    }
}
