package io.trinitylake.spark;

import io.delta.tables.execution.VacuumTableCommand;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** The end of an analysis: what must not run is refused here. */
final class StatementCheck extends AbstractFunction1<LogicalPlan, BoxedUnit> {
  private final SparkSession spark;

  /** Checks a session's plans. */
  StatementCheck(SparkSession spark) {
    this.spark = spark;
  }

  @Override
  public BoxedUnit apply(LogicalPlan plan) {
    StatementScope.analysed();
    refuseVacuum(plan);
    refuseOtherCatalogs(plan);
    return BoxedUnit.UNIT;
  }

  private void refuseVacuum(LogicalPlan plan) {
    if (plan instanceof VacuumTableCommand vacuum
        && vacuum.child() instanceof ResolvedTable table
        && table.catalog() instanceof TrinityLakeCatalog) {
      throw Sneaky.raise(
          TrinityLakeException.unsupported(
              "VACUUM knows nothing of the lakehouse's versions: CALL "
                  + table.catalog().name()
                  + ".system.expire_versions(…) and collect_garbage() delete what no version"
                  + " needs."));
    }
  }

  private void refuseOtherCatalogs(LogicalPlan plan) {
    String open = Catalogs.inTransaction(spark);
    if (open == null) {
      return;
    }
    Optional<String> target = WriteTarget.of(plan).filter(catalog -> !catalog.equals(open));
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
