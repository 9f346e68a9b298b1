package io.trinitylake.spark;

import java.util.concurrent.atomic.AtomicLong;

/** A transaction of a session, as the relations that were loaded in it remember it. */
final class TransactionMark {
  private static final AtomicLong CHANGES = new AtomicLong();

  private volatile String end;

  /** A definition inside of some open transaction may have changed. */
  static void noteChange() {
    CHANGES.incrementAndGet();
  }

  /** Rises with every change that a transaction may have made, of whichever session. */
  static long changes() {
    return CHANGES.get();
  }

  /**
   * It is over, and what it saw beside committed versions never came to be.
   *
   * @param how what became of it, as it reads in a message: "was rolled back"
   */
  void gone(String how) {
    end = how;
  }

  /** What became of it, or null if it is open or committed. */
  String end() {
    return end;
  }
}
