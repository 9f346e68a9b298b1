package io.trinitylake.spark;

import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;

/**
 * Keeps Delta's cache of logs from growing with every statement.
 *
 * <p>Each writing statement has a view of its own, so its log is never asked for again. The newest
 * few stay, for statements that still run.
 */
final class RetiredLogs {
  private static final int KEPT = 16;

  private final Deque<String> paths = new ArrayDeque<>();

  /** Notes the path of a statement's own view, and lets go of an old one. */
  void add(SparkSession spark, String path) {
    String oldest;
    synchronized (paths) {
      if (paths.contains(path)) {
        return;
      }
      paths.addLast(path);
      oldest = paths.size() > KEPT ? paths.removeFirst() : null;
    }
    if (oldest != null) {
      DeltaLog.invalidateCache(spark, new Path(oldest));
    }
  }
}
