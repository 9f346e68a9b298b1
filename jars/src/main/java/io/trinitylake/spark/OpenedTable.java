package io.trinitylake.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * A table as the engine opened it: where Delta finds it in this view, and where streams do.
 *
 * @param catalog name of the catalog
 * @param ident namespace and name
 * @param path the table in the view that was asked for
 * @param streamPath the same table in the view that shows committed numbers only
 * @param physical where the files really are
 * @param tableId Delta's id of the table
 */
record OpenedTable(
    String catalog,
    Identifier ident,
    String path,
    String streamPath,
    String physical,
    String tableId) {

  /** Reads the answer of {@code table_load}. */
  static OpenedTable of(String catalog, Identifier ident, JsonNode answer) {
    return new OpenedTable(
        catalog,
        ident,
        Json.text(answer, "path"),
        Json.text(answer, "stream_path"),
        Json.text(answer, "physical"),
        Json.text(answer, "table_id"));
  }

  /** The namespace that the table is in. */
  String namespace() {
    return ident.namespace()[0];
  }

  /** The full name, unquoted. */
  String name() {
    return catalog + "." + namespace() + "." + ident.name();
  }

  /** The table's properties, as people should see them. */
  Map<String, String> properties(Map<String, String> ofDelta) {
    Map<String, String> properties = new HashMap<>(ofDelta);
    properties.put(TableCatalog.PROP_PROVIDER, "delta");
    properties.put(TableCatalog.PROP_LOCATION, physical);
    properties.put(TableCatalog.PROP_IS_MANAGED_LOCATION, "true");
    return properties;
  }

  /** What Spark's older interfaces know of the table. */
  CatalogTable catalogTable() {
    return catalogTable(path);
  }

  /** The same for streams. */
  CatalogTable streamTable() {
    return catalogTable(streamPath);
  }

  private CatalogTable catalogTable(String location) {
    URI uri = new Path(location).toUri();
    scala.collection.immutable.Map<String, String> none = Scala.map(Map.of());
    CatalogStorageFormat storage =
        new CatalogStorageFormat(
            Option.apply(uri), Scala.none(), Scala.none(), Scala.none(), false, none, Scala.none());
    return new CatalogTable(
        new TableIdentifier(ident.name(), Option.apply(namespace()), Option.apply(catalog)),
        CatalogTableType.MANAGED(),
        storage,
        new StructType(),
        Option.apply("delta"),
        Scala.seq(List.of()),
        Scala.none(),
        "",
        0L,
        -1L,
        "",
        none,
        Scala.none(),
        Scala.none(),
        Scala.none(),
        Scala.none(),
        Scala.seq(List.of()),
        false,
        true,
        none,
        Scala.none(),
        Scala.none());
  }
}
