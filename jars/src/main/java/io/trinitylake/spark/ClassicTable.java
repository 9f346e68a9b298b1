package io.trinitylake.spark;

import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import scala.Option;

/** Delta's own table, for everything that writes or acts on the table itself. */
final class ClassicTable extends DeltaTableV2 {
  private final OpenedTable table;

  /** Opens the table in Delta. */
  ClassicTable(SparkSession spark, OpenedTable table) {
    super(
        spark,
        new Path(table.path()),
        Option.apply(table.catalogTable()),
        // Delta would look a name up in the current catalog, with two parts at most.
        Scala.none(),
        Scala.none(),
        Scala.map(Map.of()));
    this.table = table;
  }

  /** Catalog, namespace and name. */
  List<String> fullName() {
    return List.of(table.catalog(), table.namespace(), table.ident().name());
  }

  /** What streams use: a view in which every number is committed and final. */
  @Override
  public CatalogTable v1Table() {
    return table.streamTable();
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
