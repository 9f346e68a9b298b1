package io.trinitylake.spark;

import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;

/**
 * Log entries that running statements have put into open transactions.
 *
 * <p>If the statement fails after all, the engine takes them back, so that the transaction goes on
 * as if the statement had not been run. Spark says how an execution ended on its listener bus, a
 * little later than to the caller; {@link #settle} waits for that before anything else begins.
 */
final class StagedEntries extends SparkListener {
  private static final long PATIENCE_MILLIS = 60_000;

  /** One path for each table, by the id of the outermost execution that wrote there. */
  private static final Map<Long, Set<Path>> PATHS = new ConcurrentHashMap<>();

  private static SparkContext watched;

  private StagedEntries() {}

  /** The outermost execution of this thread, or null outside of any. */
  static String execution() {
    SparkContext context = SparkSession.active().sparkContext();
    String root = context.getLocalProperty(SQLExecution.EXECUTION_ROOT_ID_KEY());
    return root == null ? context.getLocalProperty(SQLExecution.EXECUTION_ID_KEY()) : root;
  }

  /**
   * An entry has become part of an open transaction.
   *
   * @param execution what {@link #execution} said
   */
  static void note(String execution, Path path) {
    PATHS.computeIfAbsent(Long.valueOf(execution), id -> ConcurrentHashMap.newKeySet()).add(path);
  }

  /** Waits until failed statements of the past are taken back; costs nothing if none wrote. */
  static void settle() {
    if (PATHS.isEmpty()) {
      return;
    }
    String mine = execution();
    if (PATHS.keySet().stream().allMatch(id -> id.toString().equals(mine))) {
      return;
    }
    try {
      SparkSession.active().sparkContext().listenerBus().waitUntilEmpty(PATIENCE_MILLIS);
    } catch (TimeoutException late) {
      throw Sneaky.raise(
          TrinityLakeException.engine(
              "Spark's listener bus does not say how earlier statements of the transaction ended."
                  + " ROLLBACK, or try again later.",
              late));
    }
  }

  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    if (!(event instanceof SparkListenerSQLExecutionEnd end)) {
      return;
    }
    StatementScope.executed(end.executionId());
    Set<Path> paths = PATHS.get(end.executionId());
    if (paths == null) {
      return;
    }
    try {
      if (end.errorMessage().exists(message -> !message.isEmpty())) {
        takeBack(Long.toString(end.executionId()), paths);
      }
    } finally {
      PATHS.remove(end.executionId());
    }
  }

  private static void takeBack(String execution, Set<Path> paths) {
    for (Path path : paths) {
      try {
        LogListing.ask(
            "log_take_back",
            Json.object().put("path", path.toString()).put("execution", execution),
            path);
      } catch (IOException impossible) {
        throw Sneaky.raise(impossible);
      }
    }
  }

  /** Begins to hear of executions that end. */
  static synchronized void watch(SparkContext context) {
    if (watched != context) {
      watched = context;
      PATHS.clear();
      // A queue of its own: a busy one of Spark's may drop events.
      context.listenerBus().addToQueue(new StagedEntries(), "trinitylake");
    }
  }
}
