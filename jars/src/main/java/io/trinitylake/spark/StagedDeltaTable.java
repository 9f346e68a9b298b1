package io.trinitylake.spark;

import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;

/**
 * A table that is being created or replaced: Delta's staged table, under the table's own name.
 *
 * <p>Delta's commit of the staged changes is what binds the name, in one version of the lake.
 */
final class StagedDeltaTable implements StagedTable, SupportsWrite {
  private final String name;
  private final StagedTable staged;
  private final Runnable abandon;

  /**
   * Wraps Delta's staged table.
   *
   * @param abandon gives the staged path up
   */
  StagedDeltaTable(String name, StagedTable staged, Runnable abandon) {
    this.name = name;
    this.staged = staged;
    this.abandon = abandon;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void commitStagedChanges() {
    staged.commitStagedChanges();
  }

  @Override
  public void abortStagedChanges() {
    try {
      staged.abortStagedChanges();
    } finally {
      abandon.run();
    }
  }

  @Override
  @Deprecated
  public StructType schema() {
    return staged.schema();
  }

  @Override
  public Column[] columns() {
    return staged.columns();
  }

  @Override
  public Transform[] partitioning() {
    return staged.partitioning();
  }

  @Override
  public Map<String, String> properties() {
    return staged.properties();
  }

  @Override
  public Set<TableCapability> capabilities() {
    return staged.capabilities();
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return ((SupportsWrite) staged).newWriteBuilder(info);
  }
}
