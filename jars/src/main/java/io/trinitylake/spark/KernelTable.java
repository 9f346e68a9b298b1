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

  /**
   * Reads the table's log.
   *
   * @param options of the reader
   */
  KernelTable(OpenedTable table, Map<String, String> options) {
    super(table.ident(), table.catalogTable(), options);
    this.table = table;
  }

  /** The table as it was opened. */
  OpenedTable opened() {
    return table;
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
   * No version: Spark would load versioned tables one by one before it runs a query, each at a
   * version of its own; {@link RelationRule} brings all of them to one.
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

  /** A view of a fixed definition shows the same rows for ever, so plans that read it are equal. */
  @Override
  public boolean equals(Object other) {
    return other instanceof KernelTable kernel
        && kernel.table.path().equals(table.path())
        && kernel.getOptions().equals(getOptions());
  }

  @Override
  public int hashCode() {
    return table.path().hashCode();
  }
}
