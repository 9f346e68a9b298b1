package io.trinitylake.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as it travels between the driver and the engine. */
final class Json {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private Json() {}

  /** An empty object to put arguments into. */
  static ObjectNode object() {
    return MAPPER.createObjectNode();
  }

  /** Any Java value as JSON. */
  static JsonNode of(Object value) {
    return MAPPER.valueToTree(value);
  }

  /** Parses what the engine said. */
  static JsonNode parse(String text) {
    try {
      return MAPPER.readTree(text);
    } catch (JsonProcessingException e) {
      throw Sneaky.raise(TrinityLakeException.engine("The engine answered with broken JSON.", e));
    }
  }

  /** The strings of an array; none if it is absent. */
  static List<String> strings(JsonNode array) {
    List<String> result = new ArrayList<>();
    if (array != null) {
      array.forEach(item -> result.add(item.asText()));
    }
    return result;
  }

  /** The entries of an object, values as text; none if it is absent. */
  static Map<String, String> stringMap(JsonNode object) {
    Map<String, String> result = new LinkedHashMap<>();
    if (object != null) {
      object
          .fields()
          .forEachRemaining(
              entry -> {
                JsonNode value = entry.getValue();
                result.put(entry.getKey(), value.isValueNode() ? value.asText() : value.toString());
              });
    }
    return result;
  }

  /** The text of a field, or null if it is absent or null. */
  static String text(JsonNode object, String field) {
    JsonNode value = object.get(field);
    return value == null || value.isNull() ? null : value.asText();
  }
}
