package io.trinitylake.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.ref.Cleaner;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableCatalogCapability;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.TableSummary;
import org.apache.spark.sql.connector.catalog.TableWritePrivilege;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A lakehouse as a Spark catalog.
 *
 * <p>The engine knows what there is and decides what may change; Delta reads and writes the tables,
 * which it finds by the paths that the engine gives.
 */
public final class TrinityLakeCatalog
    implements StagingTableCatalog, SupportsNamespaces, ProcedureCatalog {
  private static final Cleaner CLEANER = Cleaner.create();

  private final PathCatalog delta = new PathCatalog();
  private final RetiredLogs retiredLogs = new RetiredLogs();
  private final PinnedCatalog pinned = new PinnedCatalog(this);
  private SparkSession spark;
  private String name;
  private String root;
  private EngineHandle engine;

  // --- the plug-in ------------------------------------------------------------------------------

  @Override
  public void initialize(String catalog, CaseInsensitiveStringMap options) {
    spark = SparkSession.active();
    name = catalog;
    root = options.getOrDefault("root", "");
    TrinityLakeSparkExtension.requireInstalled(spark);
    Settings.install(spark);
    delta.initialize(catalog, options);
    delta.setDelegateCatalog(new PathOnlyCatalog());
    String session = ((org.apache.spark.sql.classic.SparkSession) spark).sessionUUID();
    EngineHandle opened =
        new EngineHandle(
            catalog,
            Settings.python(spark),
            Settings.openArguments(spark, session, catalog, options));
    engine = opened;
    CLEANER.register(this, opened::close);
    Catalogs.add(spark, this);
    StagedEntries.watch(spark.sparkContext());
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Set<TableCatalogCapability> capabilities() {
    return delta.capabilities();
  }

  /** The URL of the tree, as it was set. */
  String root() {
    return root;
  }

  /** Whether this is the catalog of a session, and not of another one. */
  boolean isOf(SparkSession session) {
    return spark == session;
  }

  /** What relations name in place of this catalog once they are pinned to a version. */
  PinnedCatalog pinned() {
    return pinned;
  }

  /** The transaction that the session has begun in this catalog and not ended, or null. */
  TransactionMark transaction() {
    return engine.transaction();
  }

  /** Whether the session has begun a transaction in this catalog and not ended it. */
  boolean isInTransaction() {
    return engine.isInTransaction();
  }

  /** Runs {@code begin}, {@code commit} or {@code rollback}. */
  void transaction(String procedure) {
    engine.procedure(procedure, Json.object());
  }

  // --- namespaces -------------------------------------------------------------------------------

  @Override
  public String[][] listNamespaces() {
    return Json.strings(engine.call("namespaces", arguments()).get("names")).stream()
        .map(namespace -> new String[] {namespace})
        .toArray(String[][]::new);
  }

  @Override
  public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
    if (namespace.length == 0) {
      return listNamespaces();
    }
    loadNamespaceMetadata(namespace);
    return new String[0][];
  }

  @Override
  public Map<String, String> loadNamespaceMetadata(String[] namespace)
      throws NoSuchNamespaceException {
    if (isSystem(namespace)) {
      return Map.of();
    }
    JsonNode answer = engine.call("namespace_load", arguments(namespace));
    return Json.stringMap(answer.get("properties"));
  }

  @Override
  public void createNamespace(String[] namespace, Map<String, String> metadata) {
    ObjectNode arguments = arguments(namespace);
    arguments.set("properties", Json.of(metadata));
    engine.call("namespace_create", arguments);
  }

  @Override
  public void alterNamespace(String[] namespace, NamespaceChange... changes) {
    ObjectNode arguments = arguments(namespace);
    ObjectNode set = arguments.putObject("set");
    var unset = arguments.putArray("unset");
    for (NamespaceChange change : changes) {
      if (change instanceof NamespaceChange.SetProperty property) {
        set.put(property.property(), property.value());
      } else if (change instanceof NamespaceChange.RemoveProperty property) {
        unset.add(property.property());
      }
    }
    engine.call("namespace_alter", arguments);
  }

  @Override
  public boolean dropNamespace(String[] namespace, boolean cascade) {
    ObjectNode arguments = arguments(namespace).put("cascade", cascade);
    return engine.call("namespace_drop", arguments).path("dropped").asBoolean();
  }

  // --- tables: looking --------------------------------------------------------------------------

  @Override
  public Identifier[] listTables(String[] namespace) {
    String method = isSystem(namespace) ? "system_tables" : "tables";
    return Json.strings(engine.call(method, arguments(namespace)).get("names")).stream()
        .map(table -> Identifier.of(namespace, table))
        .toArray(Identifier[]::new);
  }

  @Override
  public TableSummary[] listTableSummaries(String[] namespace) {
    Identifier[] tables = listTables(namespace);
    TableSummary[] summaries = new TableSummary[tables.length];
    for (int i = 0; i < tables.length; i++) {
      summaries[i] = TableSummary.of(tables[i], TableSummary.MANAGED_TABLE_TYPE);
    }
    return summaries;
  }

  @Override
  public boolean tableExists(Identifier ident) {
    return engine.call("table_exists", arguments(ident, statement())).path("exists").asBoolean();
  }

  @Override
  public Table loadTable(Identifier ident) throws NoSuchTableException {
    Statement statement = statement();
    if (statement.targets().contains(List.of(name, namespace(ident.namespace()), ident.name()))) {
      return loadTarget(ident, statement);
    } else if (isSystem(ident.namespace())) {
      return systemTable(ident);
    } else if (statement.kind() == Statement.Kind.LIVE) {
      return new ClassicTable(spark, open(ident, statement, "live"));
    }
    return face(open(ident, statement, "read"), statement);
  }

  @Override
  public Table loadTable(Identifier ident, Set<TableWritePrivilege> privileges)
      throws NoSuchTableException {
    return loadForWriting(ident, statement());
  }

  @Override
  public Table loadTable(Identifier ident, String version) throws NoSuchTableException {
    Statement statement = statement();
    return face(
        open(ident, arguments(ident, statement).put("version", version), statement), statement);
  }

  @Override
  public Table loadTable(Identifier ident, long timestampMicros) throws NoSuchTableException {
    Statement statement = statement();
    ObjectNode arguments = arguments(ident, statement).put("timestamp_micros", timestampMicros);
    return face(open(ident, arguments, statement), statement);
  }

  /** Loads a table for a query that is about to run. */
  Table loadForReading(Identifier ident) throws NoSuchTableException {
    return new KernelTable(open(ident, Statement.NONE, "read"), Map.of());
  }

  /**
   * Opens tables for a plan that is about to run, all at one version.
   *
   * @param idents namespaces and names
   * @param statement the command that runs the plan, or {@link Statement#NONE}
   * @param session the session that runs it
   */
  Map<Identifier, OpenedTable> openForReading(
      Set<Identifier> idents, Statement statement, SparkSession session) {
    ObjectNode arguments = arguments(statement);
    arguments.put("definition_only", statement.is(Statement.Trait.EXPLAIN));
    arguments.put("committed_only", !isOf(session) && !Catalogs.isCaching());
    ArrayNode tables = arguments.putArray("tables");
    for (Identifier ident : idents) {
      tables.addArray().add(namespace(ident.namespace())).add(ident.name());
    }
    OpenedTable.Load load = load(statement, false);
    JsonNode answers = engine.call("tables_open", arguments).get("tables");
    Map<Identifier, OpenedTable> opened = new HashMap<>();
    int next = 0;
    for (Identifier ident : idents) {
      opened.put(ident, OpenedTable.of(this, ident, answers.get(next++), load));
    }
    return opened;
  }

  /** Whether the session's open transaction sees a table in the state in which it was opened. */
  boolean sees(OpenedTable table) {
    ObjectNode arguments = arguments(table.ident(), Statement.NONE).put("mode", "read");
    JsonNode now = engine.call("table_load", arguments.put("definition_only", true));
    return Json.text(now, "path").equals(table.path());
  }

  /** Opens a table that a statement writes to. */
  OpenedTable openForWriting(Identifier ident, Statement statement) {
    return openWriter(ident, statement, "write");
  }

  /** Opens a table whose files a statement compacts: its rows stay what they are. */
  OpenedTable openForRewriting(Identifier ident, Statement statement) {
    return openWriter(ident, statement, "rewrite");
  }

  private OpenedTable openWriter(Identifier ident, Statement statement, String mode) {
    try {
      OpenedTable table = open(ident, statement, mode);
      retiredLogs.add(spark, table.path());
      return table;
    } catch (NoSuchTableException e) {
      throw Sneaky.raise(e);
    }
  }

  /**
   * The table's own number of the state that it had at a version of the lakehouse, or at a time.
   *
   * @param table catalog, namespace and name
   */
  long restorePoint(List<String> table, Long version, Long timestampMicros) {
    ObjectNode arguments =
        arguments(Identifier.of(new String[] {table.get(1)}, table.get(2)), statement());
    arguments.put("version", version == null ? null : version.toString());
    arguments.put("timestamp_micros", timestampMicros);
    return engine.call("table_restore_point", arguments).get("delta_version").asLong();
  }

  // --- tables: changing -------------------------------------------------------------------------

  @Override
  public Table createTable(Identifier ident, TableInfo info) throws NoSuchNamespaceException {
    Map<String, String> properties = ownProperties(ident, info);
    String path = stage(ident, "create");
    Cleanup.ifFails(
        () ->
            delta.createTable(pathIdentifier(path), info.columns(), info.partitions(), properties),
        () -> unstage(path));
    try {
      return new ClassicTable(spark, open(ident, Statement.NONE, "live"));
    } catch (NoSuchTableException e) {
      throw Sneaky.raise(e);
    }
  }

  @Override
  public Table createTableLike(Identifier ident, TableInfo info, Table source)
      throws NoSuchNamespaceException {
    return createTable(ident, info);
  }

  @Override
  public StagedTable stageCreate(Identifier ident, TableInfo info) {
    Map<String, String> properties = ownProperties(ident, info);
    String path = stage(ident, "create");
    return staged(
        ident,
        path,
        () ->
            delta.stageCreate(pathIdentifier(path), info.columns(), info.partitions(), properties));
  }

  @Override
  public StagedTable stageReplace(Identifier ident, TableInfo info) {
    Map<String, String> properties = ownProperties(ident, info);
    String path = stage(ident, "replace");
    return staged(
        ident,
        path,
        () ->
            delta.stageReplace(
                pathIdentifier(path), info.columns(), info.partitions(), properties));
  }

  @Override
  public StagedTable stageCreateOrReplace(Identifier ident, TableInfo info) {
    Map<String, String> properties = ownProperties(ident, info);
    String path = stage(ident, "create_or_replace");
    return staged(
        ident,
        path,
        () ->
            delta.stageCreateOrReplace(
                pathIdentifier(path), info.columns(), info.partitions(), properties));
  }

  @Override
  public Table alterTable(Identifier ident, TableChange... changes) throws NoSuchTableException {
    OpenedTable table = open(ident, statement(), "write");
    retiredLogs.add(spark, table.path());
    delta.alterTable(pathIdentifier(table.path()), changes);
    return new ClassicTable(spark, open(ident, Statement.NONE, "live"));
  }

  @Override
  public boolean dropTable(Identifier ident) {
    return drop(ident, false);
  }

  @Override
  public boolean purgeTable(Identifier ident) {
    return drop(ident, true);
  }

  @Override
  public void renameTable(Identifier from, Identifier to) {
    ObjectNode arguments = arguments(from, statement());
    arguments.put("to_namespace", renamed(from, to)).put("to_table", to.name());
    engine.call("table_rename", arguments);
  }

  // --- procedures -------------------------------------------------------------------------------

  @Override
  public UnboundProcedure loadProcedure(Identifier ident) {
    if (isSystem(ident.namespace())) {
      for (JsonNode procedure : engine.procedures()) {
        if (procedure.get("name").asText().equalsIgnoreCase(ident.name())) {
          String effect = Json.text(procedure, "effect");
          return new EngineProcedure(
              engine, procedure, () -> RefusalRule.refuseCall(spark, name, effect));
        }
      }
    }
    throw Sneaky.raise(
        TrinityLakeException.unsupported(
            "There is no procedure '"
                + ident
                + "'. SHOW PROCEDURES IN "
                + name
                + ".system lists them."));
  }

  @Override
  public Identifier[] listProcedures(String[] namespace) {
    return isSystem(namespace)
        ? engine.procedures().findValuesAsText("name").stream()
            .map(procedure -> Identifier.of(namespace, procedure))
            .toArray(Identifier[]::new)
        : new Identifier[0];
  }

  // --- inside -----------------------------------------------------------------------------------

  private Statement statement() {
    return StatementScope.current(spark.sparkContext());
  }

  private ObjectNode arguments(Statement statement) {
    statement.usedBy(engine);
    return Json.object().put("statement", statement.id());
  }

  private static boolean isSystem(String[] namespace) {
    return namespace.length == 1 && namespace[0].equalsIgnoreCase(SystemTable.NAMESPACE);
  }

  private Table systemTable(Identifier ident) throws NoSuchTableException {
    return new SystemTable(
        name + "." + SystemTable.NAMESPACE + "." + ident.name(),
        limit -> {
          ObjectNode arguments = Json.object().put("table", ident.name());
          arguments.put("namespace", SystemTable.NAMESPACE);
          return engine.call("system_table", limit < 0 ? arguments : arguments.put("limit", limit));
        });
  }

  /**
   * A table that its own statement reads, too.
   *
   * <p>Spark remembers one table for each name in a statement, so the source must be writable like
   * the target; the engine is told of the reading.
   */
  private Table loadTarget(Identifier ident, Statement statement) throws NoSuchTableException {
    if (statement.is(Statement.Trait.TEXT)) {
      // What a DataFrame reads was loaded before; the write names its target alone.
      open(ident, statement, "read");
    }
    return loadForWriting(ident, statement);
  }

  private Table loadForWriting(Identifier ident, Statement statement) throws NoSuchTableException {
    if (statement.is(Statement.Trait.EXPLAIN)) {
      return new ClassicTable(spark, open(ident, statement, "live"));
    }
    return new ClassicTable(spark, openForWriting(ident, statement));
  }

  private Table face(OpenedTable table, Statement statement) {
    if (statement.kind() == Statement.Kind.QUERY && Settings.kernelReads(spark)) {
      return new KernelTable(table, Map.of());
    }
    return new ClassicTable(spark, table);
  }

  private OpenedTable open(Identifier ident, Statement statement, String mode)
      throws NoSuchTableException {
    return open(ident, arguments(ident, statement).put("mode", mode), statement);
  }

  /** Opens a table; an error of the engine comes as the exception that Spark has for it. */
  private OpenedTable open(Identifier ident, ObjectNode arguments, Statement statement)
      throws NoSuchTableException {
    if (!arguments.has("mode")) {
      arguments.put("mode", "read");
    }
    boolean isFixed = arguments.has("version") || arguments.has("timestamp_micros");
    arguments.put("definition_only", statement.kind() == Statement.Kind.QUERY);
    OpenedTable.Load load = load(statement, isFixed);
    OpenedTable opened = OpenedTable.of(this, ident, engine.call("table_load", arguments), load);
    Catalogs.notePath(opened.path(), name);
    return opened;
  }

  private OpenedTable.Load load(Statement statement, boolean isFixed) {
    // What changes from here on may or may not be in what the engine answers.
    long changes = TransactionMark.changes();
    return new OpenedTable.Load(statement.id(), isFixed, engine.transaction(), changes);
  }

  private String stage(Identifier ident, String mode) {
    ObjectNode arguments = arguments(ident, statement()).put("mode", mode);
    String path = Json.text(engine.call("table_stage", arguments), "path");
    retiredLogs.add(spark, path);
    return path;
  }

  private void unstage(String path) {
    engine.call("table_unstage", Json.object().put("path", path));
  }

  private StagedTable staged(Identifier ident, String path, Supplier<StagedTable> stage) {
    Runnable abandon = () -> unstage(path);
    StagedTable table = Cleanup.ifFails(stage, abandon);
    return new StagedDeltaTable(
        name + "." + ident.namespace()[0] + "." + ident.name(), table, abandon);
  }

  private boolean drop(Identifier ident, boolean purge) {
    ObjectNode arguments = arguments(ident, statement()).put("purge", purge);
    return engine.call("table_drop", arguments).path("dropped").asBoolean();
  }

  /** The properties of a new table, which is a Delta table where the catalog puts it. */
  private Map<String, String> ownProperties(Identifier ident, TableInfo info) {
    Map<String, String> properties = new HashMap<>(info.properties());
    String provider = properties.getOrDefault(TableCatalog.PROP_PROVIDER, "delta");
    // DataFrame writers always name a format: the session's default if the user named none.
    boolean isChosen =
        statement().is(Statement.Trait.TEXT)
            || !provider.equals(spark.sessionState().conf().defaultDataSourceName());
    if (isChosen && !provider.equalsIgnoreCase("delta")) {
      throw Sneaky.raise(
          TrinityLakeException.unsupported(
              "Tables of catalog '"
                  + name
                  + "' are Delta tables: leave USING "
                  + provider
                  + " out, or create "
                  + ident.name()
                  + " in spark_catalog."));
    }
    if (properties.containsKey(TableCatalog.PROP_LOCATION)) {
      throw Sneaky.raise(
          TrinityLakeException.unsupported(
              "Tables of catalog '"
                  + name
                  + "' live where the catalog puts them: leave LOCATION out, or create "
                  + ident.name()
                  + " in spark_catalog."));
    }
    properties.put(TableCatalog.PROP_PROVIDER, "delta");
    return properties;
  }

  private static Identifier pathIdentifier(String path) {
    return Identifier.of(new String[] {"delta"}, path);
  }

  private ObjectNode arguments() {
    return arguments(statement());
  }

  private ObjectNode arguments(String[] namespace) {
    return arguments().put("namespace", namespace(namespace));
  }

  private ObjectNode arguments(Identifier ident, Statement statement) {
    return arguments(statement)
        .put("namespace", namespace(ident.namespace()))
        .put("table", ident.name());
  }

  /** The namespace of a new name, which Spark hands over as it was written. */
  private String renamed(Identifier from, Identifier to) {
    String[] written = to.namespace();
    if (written.length == 0) {
      return namespace(from.namespace());
    }
    boolean isFull = written.length == 2 && written[0].equals(name);
    return namespace(isFull ? new String[] {written[1]} : written);
  }

  /** The one level of namespaces that there is. */
  private String namespace(String[] namespace) {
    if (namespace.length != 1) {
      throw Sneaky.raise(
          new NoSuchNamespaceException(
              Scala.seq(
                  java.util.stream.Stream.concat(
                          java.util.stream.Stream.of(name), List.of(namespace).stream())
                      .toList())));
    }
    return namespace[0];
  }
}
