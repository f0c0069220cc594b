// A statement's text with places for values: as literal SQL, or with `?` and the order in which to bind.
package tlstax.jdbc;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** `{name}` stands for a parameter, `{{` and `}}` for a brace. A name that stands twice has one value. */
final class Template {
    private final List<Workload.Parameter> parameters = new ArrayList<>();
    /** For an offset the place of what it is an offset of, else -1; by parameter. */
    private final int[] sources;
    /** Text before each place, and after the last. */
    private final List<String> pieces = new ArrayList<>();
    /** Which parameter stands at each place. */
    private final List<Integer> places = new ArrayList<>();

    Template(String sql, Map<String, Workload.Parameter> named) throws Failure {
        Map<String, Integer> numbers = numbered(named);
        sources = sources(numbers);
        StringBuilder piece = new StringBuilder();
        for (int at = 0; at < sql.length(); at++) {
            char letter = sql.charAt(at);
            boolean doubled = at + 1 < sql.length() && sql.charAt(at + 1) == letter;
            if ((letter == '{' || letter == '}') && doubled) {
                piece.append(letter);
                at++;
            } else if (letter == '{') {
                int end = sql.indexOf('}', at);
                Integer number = end < 0 ? null : numbers.get(sql.substring(at + 1, end));
                if (number == null) {
                    throw Failure.badJob("a statement has a brace that names no parameter: " + sql);
                }
                pieces.add(piece.toString());
                piece.setLength(0);
                places.add(number);
                at = end;
            } else {
                piece.append(letter);
            }
        }
        pieces.add(piece.toString());
    }

    /** Parameters in an order in which an offset comes after what it is an offset of. */
    private Map<String, Integer> numbered(Map<String, Workload.Parameter> named) throws Failure {
        Map<String, Integer> numbers = new HashMap<>();
        int before = -1;
        while (numbers.size() < named.size() && numbers.size() > before) {
            before = numbers.size();
            for (Map.Entry<String, Workload.Parameter> entry : named.entrySet()) {
                String of = entry.getValue().of;
                if (!numbers.containsKey(entry.getKey()) && (of == null || numbers.containsKey(of))) {
                    numbers.put(entry.getKey(), parameters.size());
                    parameters.add(entry.getValue());
                }
            }
        }
        if (numbers.size() < named.size()) {
            throw Failure.badJob("a parameter is an offset of one that the statement does not have");
        }
        return numbers;
    }

    private int[] sources(Map<String, Integer> numbers) {
        int[] found = new int[parameters.size()];
        for (int number = 0; number < found.length; number++) {
            String of = parameters.get(number).of;
            found[number] = of == null ? -1 : numbers.get(of);
        }
        return found;
    }

    /** A Long or a String for each parameter; null where a sequence has no number left. */
    Object[] draw(SplittableRandom random) {
        Object[] values = new Object[parameters.size()];
        for (int number = 0; number < values.length; number++) {
            Workload.Parameter parameter = parameters.get(number);
            values[number] = sources[number] < 0
                    ? drawn(parameter, random)
                    : Long.valueOf((Long) values[sources[number]] + parameter.low);
            if (values[number] == null) {
                return null;
            }
        }
        return values;
    }

    private static Object drawn(Workload.Parameter parameter, SplittableRandom random) {
        if (parameter.next != null) {
            long next = parameter.next.getAndIncrement();
            return next > parameter.high ? null : Long.valueOf(next);
        }
        if (parameter.values != null) {
            return parameter.values.get(random.nextInt(parameter.values.size()));
        }
        if (parameter.template == null) {
            return parameter.low + random.nextLong(parameter.high - parameter.low + 1);
        }
        char[] letters = parameter.template.toCharArray();
        for (int at = 0; at < letters.length; at++) {
            if (letters[at] == '#') {
                letters[at] = (char) ('0' + random.nextInt(10));
            }
        }
        return new String(letters);
    }

    /** The statement with its values in it. */
    String literal(Object[] values) {
        if (places.isEmpty()) {
            return pieces.get(0);
        }
        StringBuilder sql = new StringBuilder(64);
        for (int place = 0; place < places.size(); place++) {
            sql.append(pieces.get(place));
            appendLiteral(sql, values[places.get(place)]);
        }
        return sql.append(pieces.get(places.size())).toString();
    }

    /**
     * A backslash in quotes means one thing or another by the session's `sql_mode`, so a text that has one is
     * written in hexadecimal.
     */
    private static void appendLiteral(StringBuilder sql, Object value) {
        if (value instanceof Long) {
            sql.append(((Long) value).longValue());
            return;
        }
        String text = (String) value;
        if (text.indexOf('\\') < 0) {
            sql.append('\'').append(text.replace("'", "''")).append('\'');
            return;
        }
        sql.append("_utf8mb4 0x");
        for (byte letter : text.getBytes(StandardCharsets.UTF_8)) {
            sql.append(Character.forDigit(letter >> 4 & 15, 16)).append(Character.forDigit(letter & 15, 16));
        }
    }

    /** The statement with a question mark for each value. */
    String withMarks() {
        return String.join("?", pieces);
    }

    /** The value of each question mark, in their order. */
    Object[] inOrder(Object[] values) {
        Object[] ordered = new Object[places.size()];
        for (int place = 0; place < ordered.length; place++) {
            ordered[place] = values[places.get(place)];
        }
        return ordered;
    }
}
