package io.trinitylake.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** JSON that travels between the driver and the engine. */
final class JsonTest {
  /** What is written is read back, whatever its characters. */
  @Test
  void readsWhatItWrites() {
    Map<String, Object> value =
        Map.of("text", "\u00e9 \ud83d\ude00 \"\\\n\u0000", "list", List.of(1, 2), "n", 1L << 62);
    JsonNode parsed = Json.parse(Json.of(value).toString());
    assertEquals(value.get("text"), parsed.get("text").asText());
    assertEquals(1L << 62, parsed.get("n").asLong());
    assertEquals(List.of("1", "2"), Json.strings(parsed.get("list")));
  }

  /** A broken answer is an error of the engine, with Jackson's as its cause. */
  @Test
  void namesTheEngineForBrokenJson() {
    TrinityLakeException error =
        assertThrows(TrinityLakeException.class, () -> Json.parse("{\"ok\": "));
    assertEquals(TrinityLakeException.ENGINE, error.getCondition());
    assertEquals("JsonEOFException", error.getCause().getClass().getSimpleName());
  }

  /** Values of any kind become text; nested ones stay JSON. */
  @Test
  void makesTextOfValues() {
    JsonNode object = Json.parse("{\"a\": 1, \"b\": true, \"c\": [1, \"x\"], \"d\": \"t\"}");
    assertEquals(Map.of("a", "1", "b", "true", "c", "[1,\"x\"]", "d", "t"), Json.stringMap(object));
  }

  /** What is absent is empty or null, and so is null. */
  @Test
  void takesAbsenceAsNothing() {
    JsonNode object = Json.parse("{\"a\": null, \"b\": \"x\"}");
    assertEquals(List.of(), Json.strings(object.get("none")));
    assertEquals(Map.of(), Json.stringMap(object.get("none")));
    assertNull(Json.text(object, "none"));
    assertNull(Json.text(object, "a"));
    assertEquals("x", Json.text(object, "b"));
  }
}
