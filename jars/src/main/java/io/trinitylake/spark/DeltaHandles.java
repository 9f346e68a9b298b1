package io.trinitylake.spark;

import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.commands.DeleteCommand;
import org.apache.spark.sql.delta.commands.MergeIntoCommand;
import org.apache.spark.sql.delta.commands.UpdateCommand;
import org.apache.spark.sql.delta.files.TahoeFileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.util.SchemaValidationMode;
import scala.runtime.AbstractPartialFunction;

/**
 * DELETE, UPDATE and MERGE of a {@code DeltaTable} that was made earlier.
 *
 * <p>Their target is what the handle knows. It becomes what the same statement in SQL would write
 * to: the table as this statement opens it, so that version, reads and conflicts are the same.
 */
final class DeltaHandles {
  private DeltaHandles() {}

  /** The same plan, or the same command with its target opened for this statement. */
  static LogicalPlan retargeted(LogicalPlan plan, SparkSession spark, Statement statement) {
    if (plan instanceof DeleteCommand delete) {
      Target target = target(delete.target(), spark, statement);
      return target == null
          ? plan
          : new DeleteCommand(
              target.index().deltaLog(),
              target.relation().catalogTable(),
              target.plan(),
              delete.condition());
    } else if (plan instanceof UpdateCommand update) {
      Target target = target(update.target(), spark, statement);
      return target == null
          ? plan
          : new UpdateCommand(
              target.index(),
              target.relation().catalogTable(),
              target.plan(),
              update.updateExpressions(),
              update.condition());
    } else if (plan instanceof MergeIntoCommand merge) {
      Target target = target(merge.target(), spark, statement);
      return target == null
          ? plan
          : new MergeIntoCommand(
              merge.source(),
              target.plan(),
              target.relation().catalogTable(),
              target.index(),
              merge.condition(),
              merge.matchedClauses(),
              merge.notMatchedClauses(),
              merge.notMatchedBySourceClauses(),
              merge.migratedSchema(),
              merge.trackHighWaterMarks(),
              merge.schemaEvolutionEnabled());
    }
    return plan;
  }

  /**
   * What a command writes to.
   *
   * @param plan the relation with its aliases
   */
  private record Target(LogicalPlan plan, LogicalRelation relation) {
    TahoeFileIndex index() {
      return (TahoeFileIndex) ((HadoopFsRelation) relation.relation()).location();
    }
  }

  private static Target target(LogicalPlan old, SparkSession spark, Statement statement) {
    if (!old.exists(DeltaHandles::isOfHandle)) {
      return null;
    }
    LogicalPlan plan =
        old.transform(
            new AbstractPartialFunction<LogicalPlan, LogicalPlan>() {
              @Override
              public boolean isDefinedAt(LogicalPlan node) {
                return isOfHandle(node);
              }

              @Override
              public LogicalPlan apply(LogicalPlan node) {
                return opened(node, spark, statement);
              }
            });
    LogicalRelation relation = (LogicalRelation) plan.find(LogicalRelation.class::isInstance).get();
    return new Target(plan, relation);
  }

  private static LogicalPlan opened(LogicalPlan node, SparkSession spark, Statement statement) {
    OpenedTable table = Relations.table(node);
    table.refuseIfLost();
    TrinityLakeCatalog catalog = Catalogs.running(spark, table.owner());
    return Relations.reading(
        spark,
        node,
        catalog.openForWriting(table.ident(), statement),
        SchemaValidationMode.PROHIBIT_CHANGES$.MODULE$);
  }

  private static boolean isOfHandle(LogicalPlan node) {
    OpenedTable table = node instanceof LogicalRelation ? Relations.table(node) : null;
    return table != null && !ViewPath.of(new Path(table.path())).isOfOneStatement();
  }
}
