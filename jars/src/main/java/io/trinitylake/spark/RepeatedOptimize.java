package io.trinitylake.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.commands.OptimizeTableCommand;
import org.apache.spark.sql.execution.command.RunnableCommand;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Enumeration;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * OPTIMIZE of a table of ours, which plans again what it had to leave out.
 *
 * <p>Delta gives up if anybody changed a file that it compacts. Here the command writes through a
 * view of its own, like an UPDATE, so that it meets others when it commits: the bins of files that
 * they changed are left out, and all others count. What was left out is looked at again at once,
 * and the answer has a row for each time. In a transaction the commit comes later; then it is left
 * out for good.
 */
public final class RepeatedOptimize extends LogicalPlan implements RunnableCommand {
  private static final long serialVersionUID = 1L;
  private static final int TIMES = 4;
  private static final Logger LOG = LoggerFactory.getLogger(RepeatedOptimize.class);
  private static final ThreadLocal<Integer> LEFT_OUT = ThreadLocal.withInitial(() -> 0);

  private final OptimizeTableCommand once;

  /** Takes the command; Spark copies plans by their constructors, so both are public. */
  public RepeatedOptimize(OptimizeTableCommand once) {
    this.once = once;
  }

  /** The same plan, unless it is an OPTIMIZE of a table of ours. */
  static LogicalPlan of(LogicalPlan plan) {
    return plan instanceof OptimizeTableCommand once && opened(once) != null
        ? new RepeatedOptimize(once)
        : plan;
  }

  /**
   * A log entry was committed on this thread.
   *
   * @param files how many files it was to compact and does not
   */
  static void noteLeftOut(int files) {
    LEFT_OUT.set(LEFT_OUT.get() + files);
  }

  @Override
  public Seq<Row> run(SparkSession spark) {
    List<Row> answer = new ArrayList<>();
    for (int time = 1; time <= TIMES; time++) {
      LEFT_OUT.remove();
      answer.addAll(runOnce(spark));
      int leftOut = LEFT_OUT.get();
      if (leftOut == 0) {
        break;
      }
      LOG.warn(
          "OPTIMIZE left {} files as they are, which others changed meanwhile: {}",
          leftOut,
          time < TIMES ? "it plans them again" : "run it again when the table is quieter");
    }
    LEFT_OUT.remove();
    return Scala.seq(answer);
  }

  private List<Row> runOnce(SparkSession spark) {
    OpenedTable known = opened(once);
    known.refuseIfLost();
    TrinityLakeCatalog catalog = Catalogs.running(spark, known.owner());
    Statement statement = StatementScope.inside(Statement.Kind.LIVE);
    try {
      ClassicTable table =
          new ClassicTable(spark, catalog.openForRewriting(known.ident(), statement));
      LogicalPlan target = ResolvedTable.create(catalog, known.ident(), table);
      LogicalPlan pass = once.withNewChildren(Scala.seq(List.of(target)));
      return CollectionConverters.asJava(((OptimizeTableCommand) pass).run(spark));
    } finally {
      statement.end();
    }
  }

  private static OpenedTable opened(OptimizeTableCommand command) {
    return command.child() instanceof ResolvedTable target
            && target.table() instanceof DeltaTableV2 table
        ? OpenedCatalogTable.opened(table.catalogTable())
        : null;
  }

  @Override
  public Map<String, SQLMetric> metrics() {
    return once.metrics();
  }

  // --- what every plan must say ----------------------------------------------------------------

  @Override
  public Seq<Attribute> output() {
    return once.output();
  }

  @Override
  public Seq<LogicalPlan> children() {
    return Scala.seq(List.of());
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> newChildren) {
    return this;
  }

  @Override
  public Seq<Enumeration.Value> nodePatterns() {
    return Scala.seq(List.of(TreePattern.COMMAND()));
  }

  @Override
  public void org$apache$spark$sql$catalyst$plans$logical$Command$_setter_$nodePatterns_$eq(
      Seq<Enumeration.Value> patterns) {
    // A trait of Scala's would keep them here.
  }

  @Override
  public boolean canEqual(Object that) {
    return that instanceof RepeatedOptimize;
  }

  @Override
  public boolean equals(Object that) {
    return that instanceof RepeatedOptimize other && once.equals(other.once);
  }

  @Override
  public int hashCode() {
    return Objects.hash(once);
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int n) {
    return once;
  }
}
