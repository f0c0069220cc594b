// A driver's words in one line: no stack trace, nothing said twice, never the password.
package tlstax.jdbc;

import java.util.LinkedHashSet;
import java.util.Set;

/** Makes one sentence of what was thrown and of what caused it. */
final class Words {
    private static final int LONGEST_CHARS = 600;
    private static volatile String secret = "";

    private Words() {}

    /** From now on this text is blanked in whatever is said. */
    static void keepSecret(String password) {
        secret = password;
    }

    static String of(Throwable thrown) {
        Set<String> said = new LinkedHashSet<>();
        for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
            String words = firstOf(cause.getMessage());
            if (said.stream().noneMatch(before -> before.contains(words))) {
                said.add(words);
            }
        }
        String all = said.isEmpty() ? thrown.getClass().getName() : String.join(": ", said);
        String shown = secret.isEmpty() ? all : all.replace(secret, "…");
        return shown.length() > LONGEST_CHARS ? shown.substring(0, LONGEST_CHARS) + "…" : shown;
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
}
