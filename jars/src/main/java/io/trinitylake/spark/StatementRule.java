package io.trinitylake.spark;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TimeTravel;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.CloneTableStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;

/** Runs before the first table of an analysis is loaded; only blocks become something else. */
final class StatementRule extends Rule<LogicalPlan> {
  private final SparkSession spark;

  /** Watches a session's analyses. */
  StatementRule(SparkSession spark) {
    this.spark = spark;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (plan instanceof AtomicBlock block) {
      return block.run(spark);
    }
    StatementScope.analysing(plan, spark);
    RefusalRule.refuseForeignCall(spark, plan);
    if (plan instanceof CloneTableStatement clone
        && (namesOurs(clone.source()) || namesOurs(clone.target()))) {
      // Delta would create the table while it analyses, and put paths of a view into its log.
      throw Sneaky.raise(
          TrinityLakeException.unsupported(
              "CLONE is not supported here: the copy would depend on files that the source's"
                  + " lakehouse collects. Use CREATE TABLE … AS SELECT * FROM the source; VERSION"
                  + " AS OF keeps the source as it is without a copy."));
    }
    return plan;
  }

  private boolean namesOurs(LogicalPlan plan) {
    return plan.exists(
        node ->
            node instanceof TimeTravel travel && namesOurs(travel.relation())
                || node instanceof DataSourceV2Relation loaded
                    && loaded.table() instanceof ClassicTable
                || node instanceof UnresolvedRelation relation
                    && Catalogs.isOurs(spark, relation.multipartIdentifier()));
  }
}
