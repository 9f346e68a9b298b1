package io.trinitylake.spark;

import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.catalog.DeltaCatalogV1;
import org.apache.spark.sql.delta.commands.TableCreationModes;
import scala.Option;

/**
 * Delta's catalog for tables that are all named by paths which the engine gave.
 *
 * <p>Delta itself takes no table at a path for one that exists, so CREATE OR REPLACE without a
 * query would compare the table that is there with the one that is wanted, and replace nothing.
 */
@SuppressWarnings("overrides")
final class PathCatalog extends DeltaCatalogV1 {
  @Override
  public Option<CatalogTable> getExistingTableIfExists(
      TableIdentifier table, Option<Identifier> ident, TableCreationModes.CreationMode operation) {
    Path path = new Path(table.table());
    if (operation.equals(TableCreationModes.Create$.MODULE$)
        || !DeltaLog.forTable(spark(), path).tableExists()) {
      return Option.empty();
    }
    // The type is the one that Delta gives to tables which it creates at a path.
    return Option.apply(new OpenedCatalogTable(table, CatalogTableType.EXTERNAL(), table.table()));
  }
}
