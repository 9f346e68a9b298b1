package io.trinitylake.spark;

import java.util.Map;
import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import scala.Option;

/**
 * An error that Spark has no class of its own for.
 *
 * <p>The condition and the SQLSTATE are the engine's, so {@code e.getCondition()} and {@code
 * e.getSqlState()} work in every language, and nobody has to read the message.
 */
public final class TrinityLakeException extends AnalysisException {
  /** The condition of everything that concerns the engine process itself. */
  static final String ENGINE = "TRINITYLAKE_ENGINE";

  /** The condition of a statement that is refused by name. */
  static final String UNSUPPORTED = "TRINITYLAKE_UNSUPPORTED";

  /** The condition of what belongs to a transaction that is over. */
  static final String FINISHED = "TRINITYLAKE_TRANSACTION_FINISHED";

  /** The condition of a plan that would answer with rows of another moment. */
  static final String STALE_PLAN = "TRINITYLAKE_STALE_PLAN";

  /** The condition of settings that cannot work together. */
  static final String SETUP = "TRINITYLAKE_SETUP";

  /**
   * Builds the error.
   *
   * @param condition stable name of the error, for example {@code TRINITYLAKE_COMMIT_CONFLICT}
   * @param sqlState five characters
   * @param message what happened and what to do next
   * @param fields typed facts, as text
   * @param cause what was caught, or null
   */
  TrinityLakeException(
      String condition,
      String sqlState,
      String message,
      Map<String, String> fields,
      Throwable cause) {
    super(
        "[" + condition + "] " + message + " SQLSTATE: " + sqlState,
        Option.empty(),
        Option.empty(),
        Option.apply(cause),
        Option.apply(condition),
        Scala.map(fields),
        new QueryContext[0],
        Option.apply(sqlState),
        Option.empty());
  }

  /** Something of a transaction that is over, and of which nothing was committed. */
  static TrinityLakeException finished(String message) {
    return new TrinityLakeException(FINISHED, "25000", message, Map.of(), null);
  }

  /** A plan that Spark has kept from a moment that is past. */
  static TrinityLakeException stalePlan(String message) {
    return new TrinityLakeException(STALE_PLAN, "25000", message, Map.of(), null);
  }

  /** The engine process is gone, did not start, or broke its side of the protocol. */
  static TrinityLakeException engine(String message, Throwable cause) {
    return new TrinityLakeException(ENGINE, "58000", message, Map.of(), cause);
  }

  /** A statement that is refused, with the way out in the message. */
  static TrinityLakeException unsupported(String message) {
    return new TrinityLakeException(UNSUPPORTED, "0A000", message, Map.of(), null);
  }

  /** Settings that cannot work, with the setting to change in the message. */
  static TrinityLakeException setup(String message) {
    return new TrinityLakeException(SETUP, "56038", message, Map.of(), null);
  }
}
