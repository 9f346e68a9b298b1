package io.trinitylake.spark;

import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * What a session needs besides its catalogs: transaction statements, and where statements begin.
 */
public final class TrinityLakeSparkExtension
    extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  private static final Set<SparkSession> INSTALLED =
      Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectParser(
        (spark, parser) -> {
          INSTALLED.add(spark);
          return new TrinityLakeSqlParser(spark, parser);
        });
    extensions.injectHintResolutionRule(StatementRule::new);
    extensions.injectHintResolutionRule(RestoreRule::new);
    extensions.injectPostHocResolutionRule(RefusalRule::new);
    extensions.injectCheckRule(spark -> new StatementCheck());
    extensions.injectPlanNormalizationRule(RelationRule::new);
    extensions.injectColumnar(StalePlanRule::new);
    return BoxedUnit.UNIT;
  }

  /** Fails if the session has no extension of ours. */
  static void requireInstalled(SparkSession spark) {
    spark.sessionState().sqlParser();
    if (!INSTALLED.contains(spark)) {
      throw Sneaky.raise(
          TrinityLakeException.setup(
              "spark.sql.extensions lacks "
                  + TrinityLakeSparkExtension.class.getName()
                  + ": name it after io.delta.sql.DeltaSparkSessionExtension."));
    }
  }
}
