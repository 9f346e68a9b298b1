package io.trinitylake.spark;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.StructType;

/** Rows that the engine answered, as a scan that needs no job. */
final class EngineRows implements LocalScan {
  private final StructType schema;
  private final InternalRow[] rows;

  /**
   * Converts an answer.
   *
   * @param answer an object with {@code columns} and {@code rows}
   */
  EngineRows(JsonNode answer) {
    schema = JsonRows.schema(answer.get("columns"));
    rows = JsonRows.rows(schema, answer.get("rows"));
  }

  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public InternalRow[] rows() {
    return rows;
  }
}
