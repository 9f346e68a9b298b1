package io.trinitylake.spark;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** The end of an analysis. */
final class StatementCheck extends AbstractFunction1<LogicalPlan, BoxedUnit> {
  @Override
  public BoxedUnit apply(LogicalPlan plan) {
    StatementScope.analysed();
    return BoxedUnit.UNIT;
  }
}
