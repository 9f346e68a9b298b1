package io.trinitylake.spark;

import io.delta.tables.execution.VacuumTableCommand;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.analysis.UnresolvedProcedure;
import org.apache.spark.sql.catalyst.plans.logical.Call;
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
    if (open != null) {
      new WriteTarget(spark).of(plan).forEach(target -> refuseUnlessOpen(open, target));
    }
  }

  /**
   * Fails if a procedure must not be called now.
   *
   * @param catalog whose it is
   * @param effect what the engine says of it: {@code reads}, {@code changes} or {@code bounds}
   */
  static void refuseCall(SparkSession spark, String catalog, String effect) {
    if (effect.equals("bounds") && AtomicBlock.isRunning(spark)) {
      throw Sneaky.raise(
          TrinityLakeException.unsupported(
              "A BEGIN ATOMIC block begins and ends its transaction itself: END commits it, and an"
                  + " error that no handler takes (raise_error, SIGNAL) rolls it back."));
    }
    String open = Catalogs.inTransaction(spark);
    if (open != null && !effect.equals("reads")) {
      refuseUnlessOpen(open, catalog);
    }
  }

  /** Fails if a procedure of somebody else's catalog is about to be called in a transaction. */
  static void refuseForeignCall(SparkSession spark, LogicalPlan plan) {
    String open = Catalogs.inTransaction(spark);
    if (open != null
        && plan instanceof Call call
        && call.procedure() instanceof UnresolvedProcedure procedure
        && !Catalogs.isOurs(spark, procedure.nameParts())) {
      refuseUnlessOpen(open, Catalogs.fullName(spark, procedure.nameParts()).get(0));
    }
  }

  private static void refuseUnlessOpen(String open, String target) {
    if (!target.equals(open)) {
      throw Sneaky.raise(
          TrinityLakeException.unsupported(
              "A transaction is open on catalog '"
                  + open
                  + "', and a change of "
                  + target
                  + " cannot be part of it. COMMIT or ROLLBACK first; reading is fine."));
    }
  }
}
