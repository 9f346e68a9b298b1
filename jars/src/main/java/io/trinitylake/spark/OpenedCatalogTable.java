package io.trinitylake.spark;

import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/** What Spark's older interfaces know of a table: a name and a path; plans carry it along. */
final class OpenedCatalogTable extends CatalogTable {
  private static final long serialVersionUID = 1L;

  private final transient OpenedTable opened;

  /**
   * Describes a table that the engine opened.
   *
   * @param location its path in the view that is to be shown
   */
  OpenedCatalogTable(OpenedTable opened, String location) {
    this(
        new TableIdentifier(
            opened.ident().name(),
            Option.apply(opened.namespace()),
            Option.apply(opened.catalog())),
        CatalogTableType.MANAGED(),
        location,
        opened);
  }

  /** Describes a table at a path that the engine gave; what it looks like is in its log. */
  OpenedCatalogTable(TableIdentifier name, CatalogTableType type, String location) {
    this(name, type, location, null);
  }

  private OpenedCatalogTable(
      TableIdentifier name, CatalogTableType type, String location, OpenedTable opened) {
    super(
        name,
        type,
        new CatalogStorageFormat(
            Option.apply(new Path(location).toUri()),
            Scala.none(),
            Scala.none(),
            Scala.none(),
            false,
            Scala.map(Map.of()),
            Scala.none()),
        new StructType(),
        Option.apply("delta"),
        Scala.seq(List.of()),
        Scala.none(),
        "",
        0L,
        -1L,
        "",
        Scala.map(Map.of()),
        Scala.none(),
        Scala.none(),
        Scala.none(),
        Scala.none(),
        Scala.seq(List.of()),
        false,
        true,
        Scala.map(Map.of()),
        Scala.none(),
        Scala.none());
    this.opened = opened;
  }

  /** The table as it was opened, or null if Spark has copied it without. */
  static OpenedTable opened(Option<CatalogTable> table) {
    return table.isDefined() && table.get() instanceof OpenedCatalogTable ours ? ours.opened : null;
  }
}
