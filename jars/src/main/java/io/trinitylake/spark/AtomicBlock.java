package io.trinitylake.spark;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.CompoundBody;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.scripting.SqlScriptingExecution;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;

/**
 * {@code BEGIN ATOMIC … END} before it has run: a script that is one transaction.
 *
 * <p>Spark runs a script when it would analyse it; so does this.
 */
public final class AtomicBlock extends LogicalPlan {
  private static final long serialVersionUID = 1L;

  /** Sessions in which a block runs: at most one in each, as transactions do not nest. */
  private static final Set<SparkSession> RUNNING = ConcurrentHashMap.newKeySet();

  private final CompoundBody body;

  /** Takes a script. */
  public AtomicBlock(CompoundBody body) {
    this.body = body;
  }

  /** The block of a parsed script; whatever else was parsed stays as it is. */
  static LogicalPlan of(LogicalPlan parsed) {
    return parsed instanceof CompoundBody script ? new AtomicBlock(script) : parsed;
  }

  /**
   * Runs the script between BEGIN and COMMIT.
   *
   * @return the rows of its last query
   * @throws Throwable (sneaky) what the script failed with, after ROLLBACK; or the failed COMMIT
   */
  LogicalPlan run(SparkSession spark) {
    TrinityLakeCatalog catalog = Catalogs.forTransaction(spark);
    boolean isOnly = RUNNING.add(spark);
    try {
      catalog.transaction("begin");
      StatementScope.leaving();
      return runBegun(spark, catalog);
    } finally {
      if (isOnly) {
        RUNNING.remove(spark);
      }
    }
  }

  private LogicalPlan runBegun(SparkSession spark, TrinityLakeCatalog catalog) {
    try {
      Map<String, Expression> none = Map$.MODULE$.empty();
      LogicalPlan result =
          SqlScriptingExecution.executeSqlScript(
              (org.apache.spark.sql.classic.SparkSession) spark, body, none);
      catalog.transaction("commit");
      return result;
    } catch (Throwable failure) {
      Cleanup.after(failure, () -> rollBack(catalog));
      throw Sneaky.raise(failure);
    }
  }

  /** Whether a block of the session runs, on whichever thread. */
  static boolean isRunning(SparkSession spark) {
    return RUNNING.contains(spark);
  }

  private static void rollBack(TrinityLakeCatalog catalog) {
    if (catalog.isInTransaction()) {
      catalog.transaction("rollback");
    }
  }

  @Override
  public Seq<Attribute> output() {
    return Scala.seq(List.of());
  }

  @Override
  public Seq<LogicalPlan> children() {
    return Scala.seq(List.of());
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> newChildren) {
    return this;
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int index) {
    return body;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof AtomicBlock;
  }
}
