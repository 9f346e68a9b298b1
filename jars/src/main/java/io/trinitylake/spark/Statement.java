package io.trinitylake.spark;

import java.lang.ref.Cleaner;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * One statement: everything it loads is seen at one version of the lake.
 *
 * <p>The engine keeps the version until the statement is over.
 */
final class Statement {
  /** What a statement does with the tables that it names, apart from the targets of its writes. */
  enum Kind {
    /** It only reads, so tables may show the face that reads fastest. */
    QUERY,
    /** It reads them to write somewhere else. */
    COMMAND,
    /** It acts on the table itself (OPTIMIZE, RESTORE, DESCRIBE …), as it is now. */
    LIVE
  }

  /** What the text or the builder of a statement says about it. */
  enum Trait {
    /** It was written in SQL. */
    TEXT,
    /** It runs after its analysis, on the same thread. */
    COMMAND,
    /** It shows a plan and reads no data. */
    EXPLAIN,
    /** It is a TRUNCATE, which leaves the same log entry as a DELETE of all rows. */
    TRUNCATE
  }

  private static final Cleaner CLEANER = Cleaner.create();

  /** Outside of any statement: the table itself, as it is now. */
  static final Statement NONE = new Statement(null, Kind.LIVE, Set.of(), Set.of());

  private final String id;
  private final Kind kind;
  private final Set<List<String>> targets;
  private final Set<Trait> traits;
  private final Set<EngineHandle> users = ConcurrentHashMap.newKeySet();
  private final Cleaner.Cleanable end;

  /**
   * Begins a statement.
   *
   * @param id what the engine knows it by; null means no statement: the newest version
   * @param kind what it does with the tables that it does not write to
   * @param targets full names of the tables that it writes to, as far as its text says
   * @param traits what else is known of it
   */
  Statement(String id, Kind kind, Set<List<String>> targets, Set<Trait> traits) {
    this.id = id;
    this.kind = kind;
    this.targets = targets;
    this.traits = traits;
    Set<EngineHandle> told = users;
    // A thread that dies in the middle of a statement never says that it is over.
    end = CLEANER.register(this, () -> told.forEach(engine -> engine.statementEnded(id)));
  }

  /** What the engine knows it by, or null outside of any statement. */
  String id() {
    return id;
  }

  /** What it does with the tables that it does not write to. */
  Kind kind() {
    return kind;
  }

  /** Full names of the tables that it writes to, as far as its text says. */
  Set<List<String>> targets() {
    return targets;
  }

  /** Whether something is known of it. */
  boolean is(Trait fact) {
    return traits.contains(fact);
  }

  /** An engine is about to hear of the statement, so it must also hear of its end. */
  void usedBy(EngineHandle engine) {
    if (id != null) {
      users.add(engine);
    }
  }

  /** It is over: the engine lets go of its version, now or with its next call. */
  void end() {
    if (id != null) {
      end.clean();
    }
  }
}
