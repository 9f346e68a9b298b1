package io.trinitylake.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableCatalog;

/**
 * A table as the engine opened it: where Delta finds it in this view, and where streams do.
 *
 * @param owner the catalog that it was loaded from
 * @param ident namespace and name
 * @param path the table in the view that was asked for
 * @param streamPath the same table in the view that shows committed numbers only
 * @param physical where the files really are
 * @param tableId Delta's id of the table
 * @param load when and for whom it was opened
 */
record OpenedTable(
    TrinityLakeCatalog owner,
    Identifier ident,
    String path,
    String streamPath,
    String physical,
    String tableId,
    Load load) {

  /**
   * The moment at which a table was opened.
   *
   * @param statement id of the statement, or null
   * @param isFixed whether a version was named, so that the table is the same for ever
   * @param transaction the transaction that was open, or null
   * @param changes {@link TransactionMark#changes()} before
   */
  record Load(String statement, boolean isFixed, TransactionMark transaction, long changes) {}

  /** Reads the answer of {@code table_load}. */
  static OpenedTable of(TrinityLakeCatalog owner, Identifier ident, JsonNode answer, Load load) {
    return new OpenedTable(
        owner,
        ident,
        Json.text(answer, "path"),
        Json.text(answer, "stream_path"),
        Json.text(answer, "physical"),
        Json.text(answer, "table_id"),
        load);
  }

  /** Name of the catalog. */
  String catalog() {
    return owner.name();
  }

  /** The namespace that the table is in. */
  String namespace() {
    return ident.namespace()[0];
  }

  /** The full name, unquoted. */
  String name() {
    return catalog() + "." + namespace() + "." + ident.name();
  }

  /** The table's properties, as people should see them. */
  Map<String, String> properties(Map<String, String> ofDelta) {
    Map<String, String> properties = new HashMap<>(ofDelta);
    properties.put(TableCatalog.PROP_PROVIDER, "delta");
    properties.put(TableCatalog.PROP_LOCATION, physical);
    properties.put(TableCatalog.PROP_IS_MANAGED_LOCATION, "true");
    return properties;
  }

  /**
   * Refuses a table as a transaction saw it of which nothing was committed.
   *
   * @throws TrinityLakeException (sneaky) with the way out
   */
  void refuseIfLost() {
    String end = load.transaction() == null ? null : load.transaction().end();
    if (end != null) {
      throw Sneaky.raise(
          TrinityLakeException.finished(
              "This DataFrame, view or handle was made in a transaction that "
                  + end
                  + ", and it reads "
                  + name()
                  + " as that transaction saw it. Make it anew: spark.table(\""
                  + name()
                  + "\")."));
    }
  }

  /** Whether the session's open transaction sees the table in this very state. */
  boolean isCurrent() {
    return owner.sees(this);
  }

  /** What Spark's older interfaces know of the table. */
  CatalogTable catalogTable() {
    return new OpenedCatalogTable(this, path);
  }

  /** The same for streams. */
  CatalogTable streamTable() {
    return new OpenedCatalogTable(this, streamPath);
  }
}
