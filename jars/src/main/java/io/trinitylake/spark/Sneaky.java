package io.trinitylake.spark;

/** Throws checked exceptions through Spark's interfaces, whose signatures do not name them. */
final class Sneaky {
  private Sneaky() {}

  /** Throws {@code error} as it is; declared to return so that callers can write {@code throw}. */
  @SuppressWarnings("unchecked")
  static <E extends Throwable> RuntimeException raise(Throwable error) throws E {
    throw (E) error;
  }
}
