package io.trinitylake.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Set;
import java.util.function.IntFunction;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A table of the reserved namespace {@code system}: what the engine knows, as rows. */
final class SystemTable implements SupportsRead {
  /** The reserved namespace. */
  static final String NAMESPACE = "system";

  private final String name;
  private final Column[] columns;
  private final IntFunction<JsonNode> read;

  /**
   * Describes the table.
   *
   * @param read asks the engine for {@code columns} and so many {@code rows}; -1 for all
   */
  SystemTable(String name, IntFunction<JsonNode> read) {
    this.name = name;
    this.read = read;
    this.columns =
        CatalogV2Util.structTypeToV2Columns(JsonRows.schema(read.apply(0).get("columns")), false);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Column[] columns() {
    return columns.clone();
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(TableCapability.BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return () -> new EngineRows(read.apply(-1));
  }
}
