package io.trinitylake.spark;

import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The catalog that a relation names once it is pinned to a version.
 *
 * <p>Spark gives a cached relation to every later statement that names the same table of the same
 * catalog, whatever its version. As no statement names this catalog, cached rows are only used
 * where the whole pinned relation is the same. Sessions that share a lakehouse share it.
 */
final class PinnedCatalog implements TableCatalog {
  private final TrinityLakeCatalog catalog;

  /** Stands for a catalog. */
  PinnedCatalog(TrinityLakeCatalog catalog) {
    this.catalog = catalog;
  }

  @Override
  public void initialize(String name, CaseInsensitiveStringMap options) {
    throw new UnsupportedOperationException("Made by its catalog, not by Spark");
  }

  @Override
  public String name() {
    return catalog.name();
  }

  /** Loads a table for Spark's cache, which looks it up again after a change. */
  @Override
  public Table loadTable(Identifier ident) throws NoSuchTableException {
    return catalog.loadForReading(ident);
  }

  @Override
  public Identifier[] listTables(String[] namespace) {
    return catalog.listTables(namespace);
  }

  @Override
  public Table alterTable(Identifier ident, TableChange... changes) {
    throw new UnsupportedOperationException("A pinned relation cannot be changed: " + ident);
  }

  @Override
  public boolean dropTable(Identifier ident) {
    throw new UnsupportedOperationException("A pinned relation cannot be changed: " + ident);
  }

  @Override
  public void renameTable(Identifier from, Identifier to) {
    throw new UnsupportedOperationException("A pinned relation cannot be changed: " + from);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof PinnedCatalog pinned
        && pinned.name().equals(name())
        && pinned.catalog.root().equals(catalog.root());
  }

  @Override
  public int hashCode() {
    return Map.entry(name(), catalog.root()).hashCode();
  }
}
