package io.trinitylake.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * One catalog of one Spark session, as the engine knows it.
 *
 * <p>If the engine died, the catalog is opened again in a new one. If a transaction was open then,
 * it is lost: every statement says so until the session ends the transaction, because a script that
 * goes on must not commit the rest of it statement by statement.
 */
final class EngineHandle {
  /** Calls after which a table may be another one in an open transaction. */
  private static final Set<String> CHANGING =
      Set.of("namespace_drop", "table_drop", "table_rename", "procedure");

  private final String catalog;
  private final String python;
  private final ObjectNode openArguments;
  private final Queue<String> endedStatements = new ConcurrentLinkedQueue<>();

  private EngineProcess engine;
  private String handle;
  private TransactionMark transaction;
  private boolean isLost;

  /**
   * Opens the catalog.
   *
   * @param catalog its name, for messages
   * @param python the executable of the engine
   * @param openArguments arguments of {@code catalog_open}
   */
  EngineHandle(String catalog, String python, ObjectNode openArguments) {
    this.catalog = catalog;
    this.python = python;
    this.openArguments = openArguments;
    open();
  }

  /**
   * Calls the engine for this catalog.
   *
   * @return the engine's {@code ok}
   * @throws Throwable (sneaky) whatever Spark expects for the engine's error
   */
  JsonNode call(String method, ObjectNode arguments) {
    EngineProcess process = alive();
    refuseIfLost();
    return answer(process, method, arguments);
  }

  /** The procedures there are; also in a lost transaction, because one of them ends it. */
  JsonNode procedures() {
    return answer(alive(), "procedures", Json.object());
  }

  /** A statement is over; the engine hears of it with the next call. */
  void statementEnded(String statement) {
    endedStatements.add(statement);
  }

  private JsonNode answer(EngineProcess process, String method, ObjectNode arguments) {
    arguments.put("handle", handle());
    if (!endedStatements.isEmpty()) {
      ArrayNode ended = arguments.putArray("ended_statements");
      for (String id = endedStatements.poll(); id != null; id = endedStatements.poll()) {
        ended.add(id);
      }
    }
    JsonNode answer = process.call(method, arguments);
    if (CHANGING.contains(method)) {
      TransactionMark.noteChange();
    }
    JsonNode error = answer.get("error");
    if (error != null) {
      throw Sneaky.raise(EngineErrors.ofCatalog(error, catalog, arguments));
    }
    return answer.get("ok");
  }

  /** Runs a procedure and notes whether a transaction is open afterwards. */
  JsonNode procedure(String name, ObjectNode values) {
    StagedEntries.settle();
    boolean ends = name.equals("commit") || name.equals("rollback");
    if (ends && endLost()) {
      if (name.equals("rollback")) {
        return noRows();
      }
      throw Sneaky.raise(lost());
    }
    ObjectNode arguments = Json.object().put("name", name);
    arguments.set("arguments", values);
    JsonNode result;
    try {
      result = call("procedure", arguments);
    } catch (Throwable refused) {
      if (ends) {
        setTransaction(null, "was not committed");
      }
      throw refused;
    }
    switch (name) {
      case "begin", "resume_transaction" -> setTransaction(new TransactionMark(), null);
      case "commit" -> setTransaction(null, null);
      case "rollback" -> setTransaction(null, "was rolled back");
      case "prepare_transaction" -> setTransaction(null, "was prepared and detached");
      default -> {}
    }
    return result;
  }

  /** Whether the session has begun a transaction here and not ended it. */
  boolean isInTransaction() {
    return transaction() != null;
  }

  /** The transaction that the session has begun here and not ended, or null. */
  synchronized TransactionMark transaction() {
    return transaction;
  }

  /** Gives the handle up; what was not committed is rolled back. */
  synchronized void close() {
    if (engine != null && engine.isAlive()) {
      engine.call("catalog_close", Json.object().put("handle", handle));
    }
    engine = null;
  }

  /**
   * Another transaction is open from now on.
   *
   * @param next the one that is open, or null
   * @param end what became of the one before; null if it was committed, or there was none
   */
  private synchronized void setTransaction(TransactionMark next, String end) {
    if (transaction != null && end != null) {
      transaction.gone(end);
    }
    transaction = next;
  }

  private synchronized EngineProcess alive() {
    if (engine == null || !engine.isAlive()) {
      isLost |= transaction != null;
      open();
    }
    return engine;
  }

  private synchronized String handle() {
    return handle;
  }

  private synchronized void refuseIfLost() {
    if (isLost) {
      throw Sneaky.raise(lost());
    }
  }

  private synchronized boolean endLost() {
    if (engine != null && !engine.isAlive()) {
      isLost |= transaction != null;
    }
    boolean wasLost = isLost;
    isLost = false;
    if (wasLost) {
      setTransaction(null, "was lost with the engine process");
    }
    return wasLost;
  }

  private synchronized void open() {
    EngineProcess process = EngineProcess.running(python);
    JsonNode answer = process.call("catalog_open", openArguments);
    JsonNode error = answer.get("error");
    if (error != null) {
      throw Sneaky.raise(EngineErrors.exception(error));
    }
    handle = answer.get("ok").get("handle").asText();
    engine = process;
  }

  private TrinityLakeException lost() {
    return TrinityLakeException.engine(
        "The transaction on catalog '"
            + catalog
            + "' was lost with the engine process, and nothing of it is committed."
            + " ROLLBACK ends it; then run it again.",
        null);
  }

  private static JsonNode noRows() {
    ObjectNode result = Json.object();
    result.set("columns", Json.of(List.of(List.of("transaction_id", "STRING"))));
    result.set("rows", Json.of(List.of()));
    return result;
  }
}
