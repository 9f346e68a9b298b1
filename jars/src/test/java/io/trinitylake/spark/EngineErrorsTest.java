package io.trinitylake.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.FileNotFoundException;
import java.nio.file.FileAlreadyExistsException;
import java.util.Map;
import org.apache.spark.SparkThrowable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Errors of the engine as Spark, Hadoop and Delta know them. */
final class EngineErrorsTest {
  private static final JsonNode ASKED = Json.parse("{\"namespace\": \"sales\", \"table\": \"t\"}");

  /** An error that Spark has a condition for gets it, with the names in Spark's message. */
  @ParameterizedTest
  @CsvSource({
    "TRINITYLAKE_TABLE_NOT_FOUND, TABLE_OR_VIEW_NOT_FOUND, `lake`.`sales`.`t`",
    "TRINITYLAKE_NAMESPACE_NOT_FOUND, SCHEMA_NOT_FOUND, `lake`.`sales`",
    "TRINITYLAKE_TABLE_ALREADY_EXISTS, TABLE_OR_VIEW_ALREADY_EXISTS, `lake`.`sales`.`t`",
    "TRINITYLAKE_NAMESPACE_ALREADY_EXISTS, SCHEMA_ALREADY_EXISTS, `lake`.`sales`",
    "TRINITYLAKE_NAMESPACE_NOT_EMPTY, _LEGACY_ERROR_TEMP_3103, lake.sales",
  })
  void usesSparksConditions(String kind, String condition, String named) {
    Throwable error = EngineErrors.ofCatalog(error(kind, "{}"), "lake", ASKED);
    assertEquals(condition, assertInstanceOf(SparkThrowable.class, error).getCondition());
    assertTrue(error.getMessage().contains(named), error.getMessage());
  }

  /** The names that the engine found wrong come before those that were asked for. */
  @Test
  void namesWhatTheEngineNames() {
    JsonNode error =
        error("TRINITYLAKE_TABLE_ALREADY_EXISTS", "{\"namespace\": \"new\", \"table\": \"b\"}");
    String message = EngineErrors.ofCatalog(error, "lake", ASKED).getMessage();
    assertTrue(message.contains("`lake`.`new`.`b`"), message);
  }

  /** Everything else keeps its own condition, SQLSTATE, text and fields. */
  @Test
  void keepsItsOwn() {
    Throwable error =
        EngineErrors.ofCatalog(
            error("TRINITYLAKE_COMMIT_CONFLICT", "{\"version\": 7, \"tables\": [\"a.b\"]}"),
            "lake",
            ASKED);
    TrinityLakeException ours = assertInstanceOf(TrinityLakeException.class, error);
    assertEquals("TRINITYLAKE_COMMIT_CONFLICT", ours.getCondition());
    assertEquals("40001", ours.getSqlState());
    assertEquals("[TRINITYLAKE_COMMIT_CONFLICT] What happened. SQLSTATE: 40001", ours.getMessage());
    assertEquals(Map.of("version", "7", "tables", "[\"a.b\"]"), ours.getMessageParameters());
  }

  /** An answer without a kind is an error of the engine itself. */
  @Test
  void blamesTheEngineForWhatHasNoName() {
    TrinityLakeException error = EngineErrors.exception(Json.parse("{\"message\": \"odd\"}"));
    assertEquals("TRINITYLAKE_ENGINE", error.getCondition());
    assertEquals("58000", error.getSqlState());
  }

  /** Files are missing or there in the classes that Hadoop and Delta look for. */
  @Test
  void usesTheClassesOfFileSystems() {
    Throwable missing =
        EngineErrors.ofFile(error("TRINITYLAKE_OBJECT_NOT_FOUND", "{}"), "trinity://r1/x");
    assertInstanceOf(FileNotFoundException.class, missing);
    assertEquals("trinity://r1/x", missing.getMessage());
    assertInstanceOf(TrinityLakeException.class, missing.getCause());
    Throwable there =
        EngineErrors.ofFile(error("TRINITYLAKE_OBJECT_ALREADY_EXISTS", "{}"), "trinity://r1/x");
    assertInstanceOf(FileAlreadyExistsException.class, there);
    Throwable other = EngineErrors.ofFile(error("TRINITYLAKE_STORAGE", "{}"), "trinity://r1/x");
    assertInstanceOf(TrinityLakeException.class, other);
  }

  private static JsonNode error(String kind, String fields) {
    return Json.object()
        .put("kind", kind)
        .put("sql_state", "40001")
        .put("message", "What happened.")
        .set("fields", Json.parse(fields));
  }
}
