package io.trinitylake.spark;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.execution.command.CreateViewCommand;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.SchemaValidationMode;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Brings the tables that a plan reads to the moment at which it runs.
 *
 * <p>A DataFrame, a view or a handle is a question that is asked anew each time. Spark normalizes
 * each plan once before it runs it, whatever door it came through. Here all tables of ours in the
 * plan are opened again, together and so at one version: that of the command which runs the plan,
 * else what the session's transaction sees, else the newest version. The engine notes that their
 * data is read.
 */
final class RelationRule extends Rule<LogicalPlan> {
  private static final TreeNodeTag<Pins> PINS = new TreeNodeTag<>("trinitylake.pins");

  private final SparkSession spark;

  /** Watches the plans that a session runs. */
  RelationRule(SparkSession spark) {
    this.spark = spark;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    Statement statement = StatementScope.running(plan, spark.sparkContext());
    LogicalPlan command = RepeatedOptimize.of(DeltaHandles.retargeted(plan, spark, statement));
    if (plan instanceof CreateViewCommand view) {
      // Spark keeps names in place of the relations, and nobody could tell any more whose they are.
      foreign(view.plan(), statement).forEach(OpenedTable::refuseIfLost);
    }
    List<OpenedTable> tables = foreign(command, statement);
    if (tables.isEmpty()) {
      return command;
    }
    boolean isCaching = Catalogs.isCaching();
    Option<Pins> earlier = isCaching ? command.getTagValue(PINS) : Scala.none();
    Pins pins = earlier.isDefined() ? earlier.get() : pins(tables, statement);
    command.setTagValue(PINS, pins);
    return pins.applied(spark, command, statement);
  }

  /** The tables in a plan that have yet to be opened for this run. */
  private static List<OpenedTable> foreign(LogicalPlan plan, Statement statement) {
    return CollectionConverters.asJava(
        plan.collectWithSubqueries(
            new AbstractPartialFunction<LogicalPlan, OpenedTable>() {
              @Override
              public boolean isDefinedAt(LogicalPlan node) {
                return isForeign(node, statement);
              }

              @Override
              public OpenedTable apply(LogicalPlan node) {
                return Relations.table(node);
              }
            }));
  }

  private static boolean isForeign(LogicalPlan node, Statement statement) {
    OpenedTable table = Relations.table(node);
    // Delta resolves what a command opens for itself to relations of its older kind; those of the
    // newer kind may be in Spark's cache, where each must say its version.
    return table != null
        && (node instanceof DataSourceV2Relation
            || table.load().statement() == null
            || !table.load().statement().equals(statement.id()));
  }

  private Pins pins(List<OpenedTable> tables, Statement statement) {
    Map<TrinityLakeCatalog, Set<Identifier>> wanted = new LinkedHashMap<>();
    Map<TrinityLakeCatalog, TrinityLakeCatalog> running = new HashMap<>();
    for (OpenedTable table : tables) {
      table.refuseIfLost();
      TrinityLakeCatalog catalog =
          running.computeIfAbsent(table.owner(), owner -> Catalogs.running(spark, owner));
      wanted.computeIfAbsent(catalog, key -> new LinkedHashSet<>()).add(table.ident());
    }
    Map<TrinityLakeCatalog, Map<Identifier, OpenedTable>> opened = new HashMap<>();
    wanted.forEach(
        (catalog, idents) -> opened.put(catalog, catalog.openForReading(idents, statement, spark)));
    return new Pins(running, opened);
  }

  /**
   * The tables of one plan as they were opened for it.
   *
   * @param running the catalog that speaks for the session, by the one that a relation names
   * @param tables by catalog and name
   */
  private record Pins(
      Map<TrinityLakeCatalog, TrinityLakeCatalog> running,
      Map<TrinityLakeCatalog, Map<Identifier, OpenedTable>> tables) {

    LogicalPlan applied(SparkSession spark, LogicalPlan plan, Statement statement) {
      SchemaValidationMode mode =
          statement.kind() == Statement.Kind.COMMAND || plan.exists(Command.class::isInstance)
              ? SchemaValidationMode.PROHIBIT_CHANGES$.MODULE$
              : SchemaValidationMode.ALLOW_NEW_FIELDS$.MODULE$;
      return plan.transformWithSubqueries(
          new AbstractPartialFunction<LogicalPlan, LogicalPlan>() {
            @Override
            public boolean isDefinedAt(LogicalPlan node) {
              return isForeign(node, statement);
            }

            @Override
            public LogicalPlan apply(LogicalPlan node) {
              // Delta itself looks at what it has just written by relations of its older kind.
              return Relations.reading(
                  spark,
                  node,
                  now(Relations.table(node)),
                  node instanceof DataSourceV2Relation
                      ? mode
                      : SchemaValidationMode.ALLOW_NEW_FIELDS$.MODULE$);
            }
          });
    }

    private OpenedTable now(OpenedTable table) {
      return tables.get(running.get(table.owner())).get(table.ident());
    }
  }
}
