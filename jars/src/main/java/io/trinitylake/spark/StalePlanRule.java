package io.trinitylake.spark;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import scala.Option;
import scala.runtime.AbstractPartialFunction;

/**
 * Puts a {@link PinnedScanExec} over each scan of a table of ours.
 *
 * <p>Spark plans a Dataset once. Its first action brings the tables to that moment ({@link
 * RelationRule}); a second one of the same Dataset runs the same plan again.
 */
final class StalePlanRule extends ColumnarRule {
  private final SparkSession spark;

  /** Watches the plans of a session. */
  StalePlanRule(SparkSession spark) {
    this.spark = spark;
  }

  @Override
  public Rule<SparkPlan> preColumnarTransitions() {
    return new Rule<>() {
      @Override
      public SparkPlan apply(SparkPlan plan) {
        return plan.transformUp(
            new AbstractPartialFunction<SparkPlan, SparkPlan>() {
              @Override
              public boolean isDefinedAt(SparkPlan node) {
                OpenedTable table = table(node);
                // A copy of the session runs each plan once: for Spark's cache, or a stream's
                // batch.
                return table != null && !table.load().isFixed() && table.owner().isOf(spark);
              }

              @Override
              public SparkPlan apply(SparkPlan node) {
                return new PinnedScanExec(node, table(node));
              }
            });
      }
    };
  }

  private static OpenedTable table(SparkPlan node) {
    if (node instanceof BatchScanExec scan && scan.table() instanceof KernelTable kernel) {
      return kernel.opened();
    } else if (node instanceof FileSourceScanExec scan) {
      return OpenedCatalogTable.opened(catalogTable(scan.relation().location()));
    }
    return null;
  }

  private static Option<CatalogTable> catalogTable(FileIndex index) {
    if (index instanceof PreparedDeltaFileIndex prepared) {
      return prepared.catalogTableOpt();
    }
    return index instanceof TahoeLogFileIndex log ? log.catalogTableOpt() : Scala.none();
  }
}
