package io.trinitylake.spark;

import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableOrView;
import org.apache.spark.sql.catalyst.plans.logical.CacheTable;
import org.apache.spark.sql.catalyst.plans.logical.CacheTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ParsedStatement;
import org.apache.spark.sql.catalyst.plans.logical.RestoreTableStatement;
import org.apache.spark.sql.catalyst.plans.logical.ShowCreateTable;
import org.apache.spark.sql.catalyst.plans.logical.TruncateTable;
import org.apache.spark.sql.catalyst.plans.logical.UncacheTable;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.command.DescribeQueryCommand;
import org.apache.spark.sql.execution.command.ExplainCommand;
import scala.runtime.BoxedUnit;

/**
 * Tells which statement the current thread is in, and when a statement is over.
 *
 * <p>A statement is one outermost analysis and, for a command, the execution that follows it on the
 * same thread. Views, subqueries and whatever a command analyses on the way belong to it. The state
 * is the thread's own, so two threads on one session never shift each other's statements.
 *
 * <p>Spark gives each analysis a relation cache of its own and shares it with the views inside, so
 * the identity of that cache is the identity of the analysis. A command's execution is the first
 * one that follows its analysis.
 */
final class StatementScope {
  private static final AtomicLong NEXT = new AtomicLong();
  private static final ThreadLocal<StatementScope> CURRENT = new ThreadLocal<>();
  private static final StackWalker STACK =
      StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

  /** Commands that run, by the id of their execution. */
  private static final Map<Long, Statement> RUNNING = new ConcurrentHashMap<>();

  private final Statement statement;
  private final Object analysis;
  private final String startedIn;
  private boolean isAnalysing = true;

  /** The outermost execution that the command runs in, once it runs. */
  private String runsIn;

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
      enter(null);
    }
  }

  /** The analysis on this thread is about to run statements, which are statements of their own. */
  static void leaving() {
    AnalysisContext.reset();
    enter(null);
  }

  /** An analysis runs its first rules on {@code plan}: a new statement, unless it is nested. */
  static void analysing(LogicalPlan plan, SparkSession spark) {
    AnalysisContext analysisContext = AnalysisContext.get();
    if (analysisContext.isDefault()) {
      return;
    }
    Object analysis = analysisContext.relationCache();
    StatementScope scope = CURRENT.get();
    SparkContext context = spark.sparkContext();
    if (scope != null
        && (scope.analysis == analysis
            || scope.isRunning(context)
            || scope.isAnalysing && isNested())) {
      return;
    }
    StagedEntries.settle();
    String id = Long.toString(NEXT.incrementAndGet());
    Statement statement = new Statement(id, kind(plan), targets(plan, spark), traits(plan));
    enter(new StatementScope(statement, analysis, execution(context)));
  }

  /** An analysis succeeded. */
  static void analysed() {
    StatementScope scope = CURRENT.get();
    if (scope != null && AnalysisContext.get().isDefault()) {
      scope.isAnalysing = false;
      if (!scope.statement.is(Statement.Trait.COMMAND)) {
        // Its tables have been found; whenever the query runs, they are looked up again.
        enter(null);
      }
    }
  }

  /** The statement that a load on this thread belongs to. */
  static Statement current(SparkContext context) {
    StatementScope scope = CURRENT.get();
    if (scope == null) {
      return Statement.NONE;
    }
    boolean isAnalysis = !AnalysisContext.get().isDefault();
    return isAnalysis || scope.isRunning(context) ? scope.statement : Statement.NONE;
  }

  /**
   * The command that runs {@code plan}, which is about to be executed on this thread.
   *
   * @return {@link Statement#NONE} if it is a query that runs on its own
   */
  static Statement running(LogicalPlan plan, SparkContext context) {
    StatementScope scope = CURRENT.get();
    if (scope == null) {
      return Statement.NONE;
    }
    if (plan.exists(Command.class::isInstance)) {
      scope.bind(context);
    }
    return current(context);
  }

  /** An execution is over, and if it was a command's then so is the statement. */
  static void executed(long execution) {
    Statement statement = RUNNING.remove(execution);
    if (statement != null) {
      statement.end();
    }
  }

  /** A part of a command that sees and writes its table apart from the rest. */
  static Statement inside(Statement.Kind kind) {
    return new Statement(Long.toString(NEXT.incrementAndGet()), kind, Set.of(), Set.of());
  }

  private static void enter(StatementScope scope) {
    StatementScope left = CURRENT.get();
    if (scope == null) {
      CURRENT.remove();
    } else {
      CURRENT.set(scope);
    }
    if (left != null) {
      left.statement.end();
    }
  }

  private boolean isRunning(SparkContext context) {
    bind(context);
    String execution = execution(context);
    return runsIn != null
        && runsIn.equals(context.getLocalProperty(SQLExecution.EXECUTION_ROOT_ID_KEY()))
        && execution != null
        && !execution.equals(startedIn);
  }

  /** The first execution that follows the analysis of a command is the command's. */
  private void bind(SparkContext context) {
    String execution = execution(context);
    if (runsIn == null
        && !isAnalysing
        && statement.is(Statement.Trait.COMMAND)
        && execution != null
        && !execution.equals(startedIn)) {
      runsIn = context.getLocalProperty(SQLExecution.EXECUTION_ROOT_ID_KEY());
      // Executions inside of it end earlier, and the command goes on.
      RUNNING.put(Long.valueOf(runsIn), statement);
    }
  }

  private static String execution(SparkContext context) {
    return context.getLocalProperty(SQLExecution.EXECUTION_ID_KEY());
  }

  /** Whether this analysis was started by another one, which still runs; Delta's MERGE does. */
  private static boolean isNested() {
    return STACK.walk(
        frames ->
            frames
                    .filter(frame -> Analyzer.class.isAssignableFrom(frame.getDeclaringClass()))
                    .filter(frame -> frame.getMethodName().equals("execute"))
                    // The compiler's bridge to the method has the same name.
                    .filter(frame -> frame.getMethodType().returnType() == LogicalPlan.class)
                    .limit(2)
                    .count()
                > 1);
  }

  private static Statement.Kind kind(LogicalPlan plan) {
    if (plan instanceof ExplainCommand explain) {
      return kind(explain.logicalPlan());
    }
    if (plan instanceof ShowCreateTable
        || plan instanceof CacheTable
        || plan instanceof CacheTableAsSelect
        || plan instanceof UncacheTable
        || plan instanceof DescribeQueryCommand) {
      // Delta refuses the first for its own class of table; the others are about a query.
      return Statement.Kind.QUERY;
    }
    if (plan.exists(StatementScope::isLive) || isDeltaHandle(plan)) {
      return Statement.Kind.LIVE;
    }
    return plan.exists(StatementScope::isCommand) ? Statement.Kind.COMMAND : Statement.Kind.QUERY;
  }

  private static Set<Statement.Trait> traits(LogicalPlan plan) {
    Set<Statement.Trait> traits = EnumSet.noneOf(Statement.Trait.class);
    if (plan.origin().sqlText().isDefined()) {
      traits.add(Statement.Trait.TEXT);
    }
    if (plan.exists(node -> isCommand(node) || isLive(node))) {
      traits.add(Statement.Trait.COMMAND);
    }
    if (plan instanceof ExplainCommand || plan instanceof DescribeQueryCommand) {
      traits.add(Statement.Trait.EXPLAIN);
    }
    if (plan.exists(TruncateTable.class::isInstance)) {
      traits.add(Statement.Trait.TRUNCATE);
    }
    return traits;
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

  private static boolean isCommand(LogicalPlan node) {
    return node instanceof Command || node instanceof ParsedStatement;
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
