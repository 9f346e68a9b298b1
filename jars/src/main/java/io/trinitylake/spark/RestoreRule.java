package io.trinitylake.spark;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TimeTravel;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RestoreTableStatement;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.delta.DeltaTimeTravelSpec;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;

/**
 * RESTORE names a version of the lakehouse, or a time; Delta knows only the table's own numbers.
 */
final class RestoreRule extends Rule<LogicalPlan> {
  private static final Option<String> DONE = Option.apply("trinitylake");

  private final SparkSession spark;

  /** Translates for a session. */
  RestoreRule(SparkSession spark) {
    this.spark = spark;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (!(plan instanceof RestoreTableStatement restore)) {
      return plan;
    }
    TimeTravel travel = restore.table();
    List<String> table = ourTable(travel.relation());
    if (table == null || travel.creationSource().equals(DONE)) {
      return plan;
    }
    TrinityLakeCatalog catalog =
        (TrinityLakeCatalog) spark.sessionState().catalogManager().catalog(table.get(0));
    Object version = catalog.restorePoint(table, version(travel), timestampMicros(travel));
    return new RestoreTableStatement(
        new TimeTravel(travel.relation(), Scala.none(), Option.apply(version), DONE));
  }

  /** Catalog, namespace and name of the table, or null if it is not ours. */
  private List<String> ourTable(LogicalPlan relation) {
    if (relation instanceof UnresolvedRelation named
        && Catalogs.isOurs(spark, named.multipartIdentifier())) {
      return Catalogs.fullName(spark, named.multipartIdentifier());
    } else if (relation instanceof DataSourceV2Relation loaded
        && loaded.table() instanceof ClassicTable table) {
      return table.fullName();
    }
    return null;
  }

  private static Long version(TimeTravel travel) {
    return travel.version().isEmpty() ? null : (Long) travel.version().get();
  }

  private Long timestampMicros(TimeTravel travel) {
    if (travel.timestamp().isEmpty()) {
      return null;
    }
    java.sql.Timestamp moment =
        new DeltaTimeTravelSpec(travel.timestamp(), Scala.none(), travel.creationSource(), false)
            .getTimestamp(spark.sessionState().conf());
    return TimeUnit.SECONDS.toMicros(Math.floorDiv(moment.getTime(), 1_000L))
        + moment.getNanos() / 1_000;
  }
}
