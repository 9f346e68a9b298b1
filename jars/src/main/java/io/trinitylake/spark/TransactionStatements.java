package io.trinitylake.spark;

import java.util.Locale;
import java.util.Optional;
import java.util.StringJoiner;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The statements that Spark's grammar lacks, written as calls of procedures.
 *
 * <p>Only text that is nothing but such a statement is taken: {@code BEGIN … END} blocks and all
 * else are Spark's.
 */
final class TransactionStatements {
  private static final int FLAGS = Pattern.CASE_INSENSITIVE | Pattern.DOTALL;
  private static final String NOISE = "(?:\\s|--[^\\n]*(?:\\n|$)|/\\*.*?\\*/)*";
  private static final String LITERAL = "('(?:[^'\\\\]|\\\\.|'')*'|\"(?:[^\"\\\\]|\\\\.)*\")";
  private static final Pattern BEGIN =
      Pattern.compile(
          NOISE
              + "(?:BEGIN(?:\\s+(?:TRANSACTION|WORK))?|START\\s+TRANSACTION)"
              + "(?:\\s+ISOLATION\\s+LEVEL\\s+"
              + "(SNAPSHOT|SERIALIZABLE|READ\\s+UNCOMMITTED|READ\\s+COMMITTED|REPEATABLE\\s+READ))?"
              + "(?:\\s+COMMENT\\s+"
              + LITERAL
              + ")?"
              + "(?:\\s+IDEMPOTENCY\\s+KEY\\s+"
              + LITERAL
              + ")?"
              + NOISE
              + ";?"
              + NOISE,
          FLAGS);
  private static final Pattern END =
      Pattern.compile(
          NOISE + "(COMMIT|ROLLBACK)(?:\\s+(?:TRANSACTION|WORK))?" + NOISE + ";?" + NOISE, FLAGS);
  private static final Pattern SHOW =
      Pattern.compile(NOISE + "SHOW\\s+TRANSACTION(S?)" + NOISE + ";?" + NOISE, FLAGS);
  private static final Pattern PREPARED =
      Pattern.compile(
          NOISE
              + "(PREPARE\\s+TRANSACTION|COMMIT\\s+PREPARED|ROLLBACK\\s+PREPARED)\\s+"
              + LITERAL
              + NOISE
              + ";?"
              + NOISE,
          FLAGS);
  private static final Pattern ATOMIC =
      Pattern.compile(NOISE + "(?:[A-Z_][A-Z0-9_]*\\s*:\\s*)?BEGIN(\\s+ATOMIC)\\s.*", FLAGS);

  private TransactionStatements() {}

  /**
   * The procedure call that a statement stands for.
   *
   * @return name and arguments, as they follow {@code CALL catalog.system.}; empty if the text is
   *     no statement of ours
   */
  static Optional<String> toCall(String sql) {
    Matcher begin = BEGIN.matcher(sql);
    if (begin.matches()) {
      StringJoiner arguments = new StringJoiner(", ", "begin(", ")");
      if (begin.group(1) != null) {
        arguments.add("isolation => '" + begin.group(1).replaceAll("\\s+", " ") + "'");
      }
      if (begin.group(2) != null) {
        arguments.add("message => " + begin.group(2));
      }
      if (begin.group(3) != null) {
        arguments.add("idempotency_key => " + begin.group(3));
      }
      return Optional.of(arguments.toString());
    }
    Matcher end = END.matcher(sql);
    if (end.matches()) {
      return Optional.of(end.group(1).toLowerCase(Locale.ROOT) + "()");
    }
    Matcher prepared = PREPARED.matcher(sql);
    if (prepared.matches()) {
      String procedure = prepared.group(1).toLowerCase(Locale.ROOT).replaceAll("\\s+", "_");
      return Optional.of(procedure + "(" + prepared.group(2) + ")");
    }
    Matcher show = SHOW.matcher(sql);
    return show.matches()
        ? Optional.of("show_transaction" + show.group(1).toLowerCase(Locale.ROOT) + "()")
        : Optional.empty();
  }

  /**
   * The block that {@code BEGIN ATOMIC … END} puts into a transaction, as Spark's grammar has it.
   *
   * @return the text without {@code ATOMIC}, of the same length; empty if it is no such block
   */
  static Optional<String> atomicBlock(String sql) {
    Matcher atomic = ATOMIC.matcher(sql);
    if (!atomic.matches()) {
      return Optional.empty();
    }
    String blank = " ".repeat(atomic.end(1) - atomic.start(1));
    return Optional.of(sql.substring(0, atomic.start(1)) + blank + sql.substring(atomic.end(1)));
  }
}
