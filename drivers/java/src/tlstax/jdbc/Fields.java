// A JSON object that is read field by field; one that nobody asked for is refused.
package tlstax.jdbc;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/** Reads an object of the job. Each call names a field; `close` refuses what no call has named. */
final class Fields implements AutoCloseable {
    /** Reads one object's fields. */
    interface Reader<T> {
        T read(Fields fields) throws Failure;
    }

    private final String place;
    private final JsonObject object;
    private final Set<String> read = new HashSet<>();

    Fields(String place, JsonElement element) throws Failure {
        if (!element.isJsonObject()) {
            throw Failure.badJob(place + " is no JSON object");
        }
        this.place = place;
        this.object = element.getAsJsonObject();
    }

    @Override
    public void close() throws Failure {
        for (String name : object.keySet()) {
            if (!read.contains(name)) {
                throw Failure.badJob(place + " has a field `" + name + "` that this client does not know");
            }
        }
    }

    /** The element, null where it is absent or null. */
    private JsonElement element(String name) {
        read.add(name);
        JsonElement found = object.get(name);
        return found == null || found.isJsonNull() ? null : found;
    }

    private <T> T primitive(String name, T otherwise, Function<JsonPrimitive, T> as) throws Failure {
        JsonElement found = element(name);
        if (found == null) {
            return otherwise;
        }
        try {
            return as.apply(found.getAsJsonPrimitive());
        } catch (RuntimeException unreadable) {
            throw Failure.badJob(place + "." + name + " cannot be read");
        }
    }

    String text(String name, String otherwise) throws Failure {
        return primitive(name, otherwise, JsonPrimitive::getAsString);
    }

    String text(String name) throws Failure {
        return needed(name, text(name, null));
    }

    Long number(String name, Long otherwise) throws Failure {
        return primitive(name, otherwise, JsonPrimitive::getAsLong);
    }

    long number(String name) throws Failure {
        return needed(name, number(name, null));
    }

    double seconds(String name, double otherwise) throws Failure {
        return primitive(name, otherwise, JsonPrimitive::getAsDouble);
    }

    boolean flag(String name) throws Failure {
        return primitive(name, false, JsonPrimitive::getAsBoolean);
    }

    List<String> texts(String name) throws Failure {
        List<String> found = new ArrayList<>();
        for (JsonElement element : array(name)) {
            found.add(element.getAsString());
        }
        return found;
    }

    Map<String, String> textsByName(String name) throws Failure {
        Map<String, String> found = new LinkedHashMap<>();
        for (Map.Entry<String, JsonElement> entry : entries(name)) {
            found.put(entry.getKey(), entry.getValue().getAsString());
        }
        return found;
    }

    JsonArray array(String name) throws Failure {
        JsonElement found = element(name);
        if (found != null && !found.isJsonArray()) {
            throw Failure.badJob(place + "." + name + " is no list");
        }
        return found == null ? new JsonArray() : found.getAsJsonArray();
    }

    <T> List<T> objects(String name, Reader<T> reader) throws Failure {
        List<T> found = new ArrayList<>();
        for (JsonElement element : array(name)) {
            try (Fields fields = new Fields(place + "." + name, element)) {
                found.add(reader.read(fields));
            }
        }
        return found;
    }

    <T> Map<String, T> objectsByName(String name, Reader<T> reader) throws Failure {
        Map<String, T> found = new LinkedHashMap<>();
        for (Map.Entry<String, JsonElement> entry : entries(name)) {
            try (Fields fields = new Fields(place + "." + name + "." + entry.getKey(), entry.getValue())) {
                found.put(entry.getKey(), reader.read(fields));
            }
        }
        return found;
    }

    private Set<Map.Entry<String, JsonElement>> entries(String name) throws Failure {
        JsonElement found = element(name);
        if (found != null && !found.isJsonObject()) {
            throw Failure.badJob(place + "." + name + " is no JSON object");
        }
        return found == null ? Set.of() : found.getAsJsonObject().entrySet();
    }

    /** The object of that name as its reader has it; `otherwise` where there is none. */
    <T> T object(String name, Reader<T> reader, T otherwise) throws Failure {
        JsonElement found = element(name);
        if (found == null) {
            return otherwise;
        }
        try (Fields fields = new Fields(place + "." + name, found)) {
            return reader.read(fields);
        }
    }

    <T> T object(String name, Reader<T> reader) throws Failure {
        return needed(name, object(name, reader, null));
    }

    /** Takes no notice of these fields: they mean nothing here. */
    void ignore(String... names) {
        read.addAll(List.of(names));
    }

    /** Refuses a field that is set, with the reason. */
    void refuse(String name, String because) throws Failure {
        JsonElement found = element(name);
        boolean empty = found == null
                || found.isJsonArray() && found.getAsJsonArray().size() == 0
                || found.isJsonPrimitive() && found.getAsJsonPrimitive().isBoolean() && !found.getAsBoolean();
        if (!empty) {
            throw Failure.badJob(place + "." + name + " cannot be had: " + because);
        }
    }

    private <T> T needed(String name, T found) throws Failure {
        if (found == null) {
            throw Failure.badJob(place + " has no field `" + name + "`");
        }
        return found;
    }
}
