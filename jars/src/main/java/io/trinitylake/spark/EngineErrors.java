package io.trinitylake.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;

/** Turns an error of the engine into the exception that Spark, Hadoop or Delta knows for it. */
final class EngineErrors {
  private EngineErrors() {}

  /**
   * The exception of a catalog call.
   *
   * @param error the engine's error object
   * @param catalog name of the catalog, for Spark's messages
   * @param arguments what was asked, which says the namespace and the table
   */
  static Throwable ofCatalog(JsonNode error, String catalog, JsonNode arguments) {
    String namespace = named(error, arguments, "namespace");
    String table = named(error, arguments, "table");
    return switch (kind(error)) {
      case "TRINITYLAKE_TABLE_NOT_FOUND" ->
          new NoSuchTableException(Scala.seq(List.of(catalog, namespace, table)));
      case "TRINITYLAKE_NAMESPACE_NOT_FOUND" ->
          new NoSuchNamespaceException(Scala.seq(List.of(catalog, namespace)));
      case "TRINITYLAKE_TABLE_ALREADY_EXISTS" ->
          new TableAlreadyExistsException(Scala.seq(List.of(catalog, namespace, table)));
      case "TRINITYLAKE_NAMESPACE_ALREADY_EXISTS" ->
          new NamespaceAlreadyExistsException(new String[] {catalog, namespace});
      case "TRINITYLAKE_NAMESPACE_NOT_EMPTY" ->
          new NonEmptyNamespaceException(new String[] {catalog, namespace});
      default -> exception(error);
    };
  }

  /**
   * The exception of a file or log call.
   *
   * <p>Delta retries a commit only on {@code java.nio}'s {@code FileAlreadyExistsException}.
   */
  static Throwable ofFile(JsonNode error, String path) {
    return switch (kind(error)) {
      case "TRINITYLAKE_OBJECT_NOT_FOUND" -> {
        IOException missing = new FileNotFoundException(path);
        missing.initCause(exception(error));
        yield missing;
      }
      case "TRINITYLAKE_OBJECT_ALREADY_EXISTS" -> new FileAlreadyExistsException(path);
      default -> exception(error);
    };
  }

  /** The error under its own condition and SQLSTATE. */
  static TrinityLakeException exception(JsonNode error) {
    return new TrinityLakeException(
        kind(error),
        error.path("sql_state").asText("58000"),
        error.path("message").asText(),
        Json.stringMap(error.get("fields")),
        null);
  }

  private static String kind(JsonNode error) {
    return error.path("kind").asText(TrinityLakeException.ENGINE);
  }

  private static String named(JsonNode error, JsonNode arguments, String field) {
    String found = error.path("fields").path(field).asText("");
    return found.isEmpty() ? arguments.path(field).asText("") : found;
  }
}
