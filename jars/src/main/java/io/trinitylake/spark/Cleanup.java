package io.trinitylake.spark;

import java.util.function.Supplier;

/**
 * What is done after a failure, whatever was thrown: Spark's own exceptions are checked ones, and
 * Scala declares none.
 */
final class Cleanup {
  private Cleanup() {}

  /**
   * Does some work, and {@code cleanup} if it fails.
   *
   * @return what the work gave
   * @throws Throwable (sneaky) what the work failed with
   */
  static <T> T ifFails(Supplier<T> work, Runnable cleanup) {
    try {
      return work.get();
    } catch (Throwable failure) {
      after(failure, cleanup);
      throw Sneaky.raise(failure);
    }
  }

  /** Cleans up after a failure; if that fails too, the failure says so and stays the one. */
  static void after(Throwable failure, Runnable cleanup) {
    try {
      cleanup.run();
    } catch (Throwable also) {
      failure.addSuppressed(also);
    }
  }
}
