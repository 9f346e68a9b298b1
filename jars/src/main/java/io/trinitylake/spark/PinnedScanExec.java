package io.trinitylake.spark;

import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * A scan of a table as it was when the plan was made, which refuses to run when that is not what
 * the session would see now.
 *
 * <p>It matters in transactions: outside of them the second action of a Dataset may give the rows
 * of the first, as it does for any table of Spark.
 */
public final class PinnedScanExec extends SparkPlan {
  private static final long serialVersionUID = 1L;

  private final SparkPlan scan;
  private final transient OpenedTable table;
  private final Seq<SparkPlan> children;

  /** Stands over a scan. */
  public PinnedScanExec(SparkPlan scan, OpenedTable table) {
    this.scan = scan;
    this.table = table;
    children = Scala.seq(List.of(scan));
  }

  /** Every action resets the metrics of its plan first, on the thread that asks for it. */
  @Override
  public void resetMetrics() {
    refuseIfStale();
    super.resetMetrics();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    refuseIfStale();
    return scan.execute();
  }

  @Override
  public RDD<ColumnarBatch> doExecuteColumnar() {
    refuseIfStale();
    return scan.executeColumnar();
  }

  @Override
  public boolean supportsColumnar() {
    return scan.supportsColumnar();
  }

  @Override
  public Option<Seq<String>> vectorTypes() {
    return scan.vectorTypes();
  }

  @Override
  public Seq<Attribute> output() {
    return scan.output();
  }

  @Override
  public Partitioning outputPartitioning() {
    return scan.outputPartitioning();
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    return scan.outputOrdering();
  }

  @Override
  public SparkPlan doCanonicalize() {
    return (SparkPlan) scan.canonicalized();
  }

  @Override
  public Seq<SparkPlan> children() {
    return children;
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> newChildren) {
    return new PinnedScanExec(newChildren.head(), table);
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int index) {
    return index == 0 ? scan : table;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof PinnedScanExec;
  }

  @Override
  public Iterator<Object> stringArgs() {
    return Scala.<Object>seq(List.of(table.name())).iterator();
  }

  private void refuseIfStale() {
    TransactionMark now = table.owner().transaction();
    OpenedTable.Load load = table.load();
    if (load.transaction() == now && (now == null || load.changes() == TransactionMark.changes())) {
      return;
    }
    if (now == null) {
      table.refuseIfLost();
    } else if (!ViewPath.of(new Path(table.path())).isOfOneStatement() && !table.isCurrent()) {
      throw Sneaky.raise(
          TrinityLakeException.stalePlan(
              "This DataFrame was run before, and Spark keeps the plan of its first run, which"
                  + " reads "
                  + table.name()
                  + " as it was then. The open transaction sees other rows. Ask anew:"
                  + " df.select(\"*\")."));
    }
  }
}
