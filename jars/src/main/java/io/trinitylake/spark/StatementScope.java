package io.trinitylake.spark;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableOrView;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ParsedStatement;
import org.apache.spark.sql.catalyst.plans.logical.RestoreTableStatement;
import org.apache.spark.sql.catalyst.plans.logical.ShowCreateTable;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.execution.SQLExecution;
import scala.runtime.BoxedUnit;

/**
 * Tells which statement the current thread is in.
 *
 * <p>A statement is one outermost analysis and, for a command, the execution that follows it on the
 * same thread. Views, subqueries and whatever a command analyses on the way belong to it. The state
 * is the thread's own, so two threads on one session never shift each other's statements.
 *
 * <p>Spark gives each analysis a relation cache of its own and shares it with the views inside, so
 * the identity of that cache is the identity of the analysis.
 */
final class StatementScope {
  private static final AtomicLong NEXT = new AtomicLong();
  private static final ThreadLocal<StatementScope> CURRENT = new ThreadLocal<>();
  private static final StackWalker STACK =
      StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

  private final Statement statement;
  private final Object analysis;
  private final String startedIn;
  private boolean isAnalysing = true;

  private StatementScope(Statement statement, Object analysis, String startedIn) {
    this.statement = statement;
    this.analysis = analysis;
    this.startedIn = startedIn;
  }

  /**
   * Text is about to be parsed: outside of an analysis that is the beginning of a new statement.
   *
   * <p>Otherwise a shell, which analyses inside of an execution, would seem to be still executing
   * its last command.
   */
  static void parsing() {
    StagedEntries.settle();
    if (AnalysisContext.get().isDefault()) {
      CURRENT.remove();
    }
  }

  /** The analysis on this thread is about to run statements, which are statements of their own. */
  static void leaving() {
    AnalysisContext.reset();
    CURRENT.remove();
  }

  /** An analysis runs its first rules on {@code plan}: a new statement, unless it is nested. */
  static void analysing(LogicalPlan plan, SparkSession spark) {
    AnalysisContext analysisContext = AnalysisContext.get();
    if (analysisContext.isDefault()) {
      return;
    }
    Object analysis = analysisContext.relationCache();
    StatementScope scope = CURRENT.get();
    String execution = execution(spark.sparkContext());
    if (scope != null
        && (scope.analysis == analysis
            || scope.isExecuting(execution)
            || scope.isAnalysing && isNested())) {
      return;
    }
    StagedEntries.settle();
    String id = Long.toString(NEXT.incrementAndGet());
    boolean isText = plan.origin().sqlText().isDefined();
    Statement statement = new Statement(id, kind(plan), targets(plan, spark), isText);
    CURRENT.set(new StatementScope(statement, analysis, execution));
  }

  /** An analysis succeeded. */
  static void analysed() {
    StatementScope scope = CURRENT.get();
    if (scope != null && AnalysisContext.get().isDefault()) {
      scope.isAnalysing = false;
    }
  }

  /** The statement that a load on this thread belongs to. */
  static Statement current(SparkContext context) {
    StatementScope scope = CURRENT.get();
    if (scope == null) {
      return Statement.NONE;
    }
    boolean isAnalysis = !AnalysisContext.get().isDefault();
    return isAnalysis || scope.isExecuting(execution(context)) ? scope.statement : Statement.NONE;
  }

  private boolean isExecuting(String execution) {
    return statement.kind() != Statement.Kind.QUERY
        && execution != null
        && !execution.equals(startedIn);
  }

  private static String execution(SparkContext context) {
    return context.getLocalProperty(SQLExecution.EXECUTION_ID_KEY());
  }

  /** Whether this analysis was started by another one, which still runs. */
  private static boolean isNested() {
    return STACK.walk(
        frames ->
            frames
                    .filter(frame -> Analyzer.class.isAssignableFrom(frame.getDeclaringClass()))
                    .filter(frame -> frame.getMethodName().equals("executeAndCheck"))
                    .limit(2)
                    .count()
                > 1);
  }

  private static Statement.Kind kind(LogicalPlan plan) {
    if (plan instanceof ShowCreateTable) {
      // Delta refuses it for its own class of table; Spark can do it for any other.
      return Statement.Kind.QUERY;
    }
    if (plan.exists(StatementScope::isLive) || isDeltaHandle(plan)) {
      return Statement.Kind.LIVE;
    }
    return plan.exists(node -> node instanceof Command || node instanceof ParsedStatement)
        ? Statement.Kind.COMMAND
        : Statement.Kind.QUERY;
  }

  /** The tables that the plan asks write privileges for. */
  private static Set<List<String>> targets(LogicalPlan plan, SparkSession spark) {
    Set<List<String>> found = new HashSet<>();
    plan.foreach(
        node -> {
          LogicalPlan target =
              node instanceof InsertIntoStatement insert
                  ? insert.table()
                  : node instanceof V2WriteCommand write ? (LogicalPlan) write.table() : node;
          if (target instanceof UnresolvedRelation relation
              && relation.options().containsKey(UnresolvedRelation.REQUIRED_WRITE_PRIVILEGES())) {
            found.add(Catalogs.fullName(spark, relation.multipartIdentifier()));
          }
          return BoxedUnit.UNIT;
        });
    return found;
  }

  private static boolean isLive(LogicalPlan node) {
    return node instanceof UnresolvedTable
        || node instanceof UnresolvedTableOrView
        || node instanceof RestoreTableStatement;
  }

  /** {@code DeltaTable.forName} loads its table by {@code spark.table} and then writes to it. */
  private static boolean isDeltaHandle(LogicalPlan plan) {
    return plan instanceof UnresolvedRelation
        && STACK.walk(
            frames ->
                frames.anyMatch(
                    frame -> frame.getClassName().startsWith("io.delta.tables.DeltaTable")));
  }
}
