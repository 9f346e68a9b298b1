package io.trinitylake.spark;

/**
 * One statement: everything it loads is seen at one version of the lake.
 *
 * @param id what the engine knows it by; null means no statement: the newest version
 * @param kind what it does with the tables that it does not write to
 */
record Statement(String id, Kind kind) {
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
  static final Statement NONE = new Statement(null, Kind.LIVE);
}
