package io.trinitylake.spark;

import io.delta.spark.internal.v2.catalog.DeltaV2Table;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.V2TableWithV1Fallback;

/**
 * The face for reading: Delta's Kernel replays the log on the driver, without starting a Spark job.
 *
 * <p>It cannot be written to, and streams use the classic table.
 */
final class KernelTable extends DeltaV2Table implements V2TableWithV1Fallback {
  private final OpenedTable table;

  /** Reads the table's log. */
  KernelTable(OpenedTable table) {
    super(table.ident(), table.catalogTable(), Map.of());
    this.table = table;
  }

  @Override
  public CatalogTable v1Table() {
    return table.streamTable();
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(TableCapability.BATCH_READ);
  }

  /**
   * No version: Spark loads versioned tables again before it runs a query, which would take the
   * query to a newer version of the lake than the one it was analysed at.
   */
  @Override
  public String version() {
    return null;
  }

  @Override
  public Map<String, String> properties() {
    return table.properties(super.properties());
  }

  @Override
  public String id() {
    return table.tableId();
  }
}
