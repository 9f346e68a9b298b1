package io.trinitylake.spark;

import java.util.List;
import java.util.Set;

/**
 * One statement: everything it loads is seen at one version of the lake.
 *
 * @param id what the engine knows it by; null means no statement: the newest version
 * @param kind what it does with the tables that it does not write to
 * @param targets full names of the tables that it writes to, as far as its text says
 * @param isText whether it was written in SQL
 */
record Statement(String id, Kind kind, Set<List<String>> targets, boolean isText) {
  /** What a statement does with the tables that it names, apart from the targets of its writes. */
  enum Kind {
    /** It only reads, so tables may show the face that reads fastest. */
    QUERY,
    /** It reads them to write somewhere else. */
    COMMAND,
    /** It acts on the table itself (OPTIMIZE, RESTORE, DESCRIBE …), as it is now. */
    LIVE
  }

  /** Outside of any statement: the table itself, as it is now. */
  static final Statement NONE = new Statement(null, Kind.LIVE, Set.of(), false);
}
