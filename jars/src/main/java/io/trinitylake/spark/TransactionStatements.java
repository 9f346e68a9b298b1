package io.trinitylake.spark;

import io.trinitylake.spark.SqlTokens.Kind;
import io.trinitylake.spark.SqlTokens.Token;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.trees.Origin;
import scala.Option;

/**
 * The statements that Spark's grammar lacks, written as calls of procedures.
 *
 * <p>Only text that nobody else can mean is taken. {@code BEGIN … END} blocks, labels and all else
 * are Spark's.
 */
final class TransactionStatements {
  private static final String END = "the end of the statement";

  private final String sql;
  private final SqlTokens tokens;
  private int position;

  private TransactionStatements(String sql) {
    this.sql = sql;
    this.tokens = new SqlTokens(sql);
  }

  /**
   * The procedure call that a statement stands for.
   *
   * @return name and arguments, as they follow {@code CALL catalog.system.}; empty if the text is
   *     no statement of ours
   * @throws ParseException if it is one, and malformed
   */
  static Optional<String> toCall(String sql) throws ParseException {
    return Optional.ofNullable(new TransactionStatements(sql).call());
  }

  /**
   * The block that {@code BEGIN ATOMIC … END} puts into a transaction, as Spark's grammar has it.
   *
   * @return the text without {@code ATOMIC}, of the same length; empty if it is no such block
   */
  static Optional<String> atomicBlock(String sql) {
    TransactionStatements statement = new TransactionStatements(sql);
    Kind first = statement.current().kind();
    if ((first == Kind.WORD || first == Kind.NAME) && statement.tokens.at(1).isSign(':')) {
      statement.position = 2;
    }
    Token atomic = statement.tokens.at(statement.position + 1);
    if (!statement.accept("BEGIN", "ATOMIC") || statement.current().isSign(':')) {
      return Optional.empty();
    }
    String blank = " ".repeat(atomic.text().length());
    return Optional.of(sql.substring(0, atomic.start()) + blank + sql.substring(atomic.end()));
  }

  private String call() throws ParseException {
    if (isNameAt(0)) {
      return null;
    } else if (isBegin()) {
      position++;
      if (!accept("TRANSACTION")) {
        accept("WORK");
      }
      return begin();
    } else if (accept("START", "TRANSACTION")) {
      return begin();
    } else if (accept("PREPARE", "TRANSACTION")) {
      return ofPrepared("prepare_transaction");
    } else if (accept("COMMIT", "PREPARED")) {
      return ofPrepared("commit_prepared");
    } else if (accept("ROLLBACK", "PREPARED")) {
      return ofPrepared("rollback_prepared");
    } else if (accept("COMMIT")) {
      return end("commit()");
    } else if (accept("ROLLBACK")) {
      return end("rollback()");
    } else if (accept("SHOW", "TRANSACTION")) {
      return finished("show_transaction()", END);
    } else if (accept("SHOW", "TRANSACTIONS")) {
      return finished("show_transactions()", END);
    }
    return null;
  }

  /** Whether BEGIN opens no block here: what follows begins no statement that Spark knows. */
  private boolean isBegin() {
    Token second = tokens.at(1);
    if (!tokens.at(0).is("BEGIN") || isNameAt(1)) {
      return false;
    }
    return second.kind() == Kind.END
        || second.isSign(';')
        || second.is("TRANSACTION")
        || second.is("WORK")
        || second.is("ISOLATION")
        || second.is("IDEMPOTENCY")
        || (second.is("COMMENT") && !tokens.at(2).is("ON"));
  }

  private String begin() throws ParseException {
    StringJoiner arguments = new StringJoiner(", ", "begin(", ")");
    String expected = "ISOLATION LEVEL, COMMENT, IDEMPOTENCY KEY or " + END;
    if (accept("ISOLATION")) {
      if (!accept("LEVEL")) {
        throw expected("LEVEL");
      }
      arguments.add("isolation => '" + level() + "'");
      expected = "COMMENT, IDEMPOTENCY KEY or " + END;
    }
    if (accept("COMMENT")) {
      arguments.add("message => " + literal());
      expected = "IDEMPOTENCY KEY or " + END;
    }
    if (accept("IDEMPOTENCY")) {
      if (!accept("KEY")) {
        throw expected("KEY");
      }
      arguments.add("idempotency_key => " + literal());
      expected = END;
    }
    return finished(arguments.toString(), expected);
  }

  /** A level of the SQL standard, as it is written; the engine refuses those it does not have. */
  private String level() throws ParseException {
    String level = current().text();
    if (accept("SNAPSHOT") || accept("SERIALIZABLE")) {
      return level;
    }
    String second = tokens.at(position + 1).text();
    if (accept("REPEATABLE", "READ")
        || accept("READ", "COMMITTED")
        || accept("READ", "UNCOMMITTED")) {
      return level + " " + second;
    }
    throw expected("SNAPSHOT or SERIALIZABLE");
  }

  private String end(String call) throws ParseException {
    return accept("TRANSACTION") || accept("WORK")
        ? finished(call, END)
        : finished(call, "PREPARED, TRANSACTION, WORK or " + END);
  }

  private String ofPrepared(String procedure) throws ParseException {
    return finished(procedure + "(" + literal() + ")", END);
  }

  private String literal() throws ParseException {
    Token literal = current();
    if (literal.kind() != Kind.LITERAL) {
      throw expected("a text in quotes");
    }
    position++;
    return literal.text();
  }

  private String finished(String call, String expected) throws ParseException {
    boolean open = true;
    while (current().isSign(';')) {
      position++;
      open = false;
    }
    if (current().kind() != Kind.END) {
      throw expected(open ? expected : END);
    }
    return call;
  }

  private Token current() {
    return tokens.at(position);
  }

  /** Whether what stands there is a label or the first part of a name. */
  private boolean isNameAt(int index) {
    Token next = tokens.at(index + 1);
    return next.isSign(':') || next.isSign('.');
  }

  /** Takes these words if all of them follow. */
  private boolean accept(String... words) {
    for (int i = 0; i < words.length; i++) {
      if (!tokens.at(position + i).is(words[i])) {
        return false;
      }
    }
    position += words.length;
    return true;
  }

  /** What Spark's own parser throws, with what would have been right. */
  private ParseException expected(String what) {
    Token found = current();
    String near = found.kind() == Kind.END ? "end of input" : "'" + found.text() + "'";
    String before = sql.substring(0, found.start());
    int line = 1 + (int) before.chars().filter(c -> c == '\n').count();
    int column = found.start() - (before.lastIndexOf('\n') + 1);
    return new ParseException(
        Option.apply(sql),
        new Origin(
            Option.apply(line),
            Option.apply(column),
            Option.apply(found.start()),
            Option.apply(Math.max(found.start(), found.end() - 1)),
            Option.apply(sql),
            Option.empty(),
            Option.empty(),
            Option.empty(),
            Option.empty(),
            Option.empty()),
        "PARSE_SYNTAX_ERROR",
        Scala.map(Map.of("error", near, "hint", ": expected " + what)));
  }
}
