package io.trinitylake.spark;

import java.util.Optional;
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
              + NOISE
              + ";?"
              + NOISE,
          FLAGS);
  private static final Pattern END =
      Pattern.compile(
          NOISE + "(COMMIT|ROLLBACK)(?:\\s+(?:TRANSACTION|WORK))?" + NOISE + ";?" + NOISE, FLAGS);
  private static final Pattern SHOW =
      Pattern.compile(NOISE + "SHOW\\s+TRANSACTION" + NOISE + ";?" + NOISE, FLAGS);

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
      StringBuilder arguments = new StringBuilder();
      if (begin.group(1) != null) {
        arguments.append("isolation => '").append(begin.group(1).replaceAll("\\s+", " "));
        arguments.append("'");
      }
      if (begin.group(2) != null) {
        arguments.append(arguments.isEmpty() ? "" : ", ").append("message => ");
        arguments.append(begin.group(2));
      }
      return Optional.of("begin(" + arguments + ")");
    }
    Matcher end = END.matcher(sql);
    if (end.matches()) {
      return Optional.of(end.group(1).toLowerCase(java.util.Locale.ROOT) + "()");
    }
    return SHOW.matcher(sql).matches() ? Optional.of("show_transaction()") : Optional.empty();
  }
}
