package io.trinitylake.spark;

/** What the engine process offers: one method, JSON in, JSON out. */
public interface EngineEntryPoint {
  /**
   * Runs one method of the engine.
   *
   * @param method name of the method
   * @param json its arguments, a JSON object
   * @return {@code {"ok": …}} or {@code {"error": {"kind", "sql_state", "message", "fields"}}}
   */
  String call(String method, String json);
}
