package io.trinitylake.spark;

import io.delta.tables.execution.VacuumTableCommand;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;

/**
 * Refuses what must not run, once it is known what a statement means.
 *
 * <p>It is no check rule, because Spark wraps what those throw, and the SQLSTATE would be lost.
 */
final class RefusalRule extends Rule<LogicalPlan> {
  private final SparkSession spark;

  /** Watches a session's plans. */
  RefusalRule(SparkSession spark) {
    this.spark = spark;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    refuseVacuum(plan);
    refuseOtherCatalogs(plan);
    return plan;
  }

  private void refuseVacuum(LogicalPlan plan) {
    if (plan instanceof VacuumTableCommand vacuum
        && vacuum.child() instanceof ResolvedTable resolved
        && resolved.table() instanceof DeltaTableV2 table
        && ViewPath.SCHEME.equals(table.path().toUri().getScheme())) {
      throw Sneaky.raise(
          TrinityLakeException.unsupported(
              "VACUUM knows nothing of the lakehouse's versions and would delete files that they"
                  + " need. Versions do not expire yet, so all files stay for now."));
    }
  }

  private void refuseOtherCatalogs(LogicalPlan plan) {
    String open = Catalogs.inTransaction(spark);
    if (open == null) {
      return;
    }
    Optional<String> target =
        new WriteTarget(spark)
            .of(plan).stream().filter(catalog -> !catalog.equals(open)).findFirst();
    if (target.isPresent()) {
      throw Sneaky.raise(
          TrinityLakeException.unsupported(
              "A transaction is open on catalog '"
                  + open
                  + "', and a change of "
                  + target.get()
                  + " cannot be part of it. COMMIT or ROLLBACK first; reading is fine."));
    }
  }
}
