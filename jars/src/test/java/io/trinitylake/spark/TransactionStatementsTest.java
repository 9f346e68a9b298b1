package io.trinitylake.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which texts are statements of ours, what they call, and what is wrong with the malformed. */
final class TransactionStatementsTest {
  private static final int MANY = 20_000;

  /** Each statement becomes the call of its procedure; blanks, comments and case do not matter. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "BEGIN | begin()",
        "begin transaction; | begin()",
        "Begin Work | begin()",
        "START TRANSACTION | begin()",
        "BEGIN ISOLATION LEVEL SNAPSHOT | begin(isolation => 'SNAPSHOT')",
        "BEGIN ISOLATION LEVEL serializable | begin(isolation => 'serializable')",
        "START TRANSACTION ISOLATION LEVEL READ  COMMITTED | begin(isolation => 'READ COMMITTED')",
        "BEGIN ISOLATION LEVEL REPEATABLE READ | begin(isolation => 'REPEATABLE READ')",
        "BEGIN COMMENT 'it''s \\'me\\'; -- not' | begin(message => 'it''s \\'me\\'; -- not')",
        "BEGIN COMMENT \"say \"\"hi\"\"\" | begin(message => \"say \"\"hi\"\"\")",
        "BEGIN IDEMPOTENCY KEY 'k' ;; | begin(idempotency_key => 'k')",
        "BEGIN WORK ISOLATION LEVEL SNAPSHOT COMMENT 'a' IDEMPOTENCY KEY 'b' "
            + "| begin(isolation => 'SNAPSHOT', message => 'a', idempotency_key => 'b')",
        "COMMIT | commit()",
        "/* /* a */ b */ Commit /* it */ Work ; -- done | commit()",
        "ROLLBACK TRANSACTION | rollback()",
        "SHOW TRANSACTION | show_transaction()",
        "SHOW TRANSACTIONS | show_transactions()",
        "PREPARE TRANSACTION 'x' | prepare_transaction('x')",
        "COMMIT PREPARED 'x' | commit_prepared('x')",
        "ROLLBACK PREPARED \"x\" | rollback_prepared(\"x\")",
      })
  void callsTheProcedure(String sql, String call) throws ParseException {
    assertEquals(Optional.of(call), TransactionStatements.toCall(sql));
  }

  /** Whatever Spark's grammar may know goes on untouched, also if it begins like ours. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        ";",
        "SELECT 1",
        "SELECT 'BEGIN TRANSACTION'",
        "-- BEGIN",
        "/* BEGIN",
        "/*+ hint */ COMMIT",
        "BEGIN END",
        "BEGIN SELECT 1; END",
        "BEGIN NOT ATOMIC SELECT 1; END",
        "BEGIN ATOMIC SELECT 1; END",
        "BEGIN COMMENT ON TABLE t IS 'x'; END",
        "BEGIN transaction: BEGIN SELECT 1; END; END",
        "BEGIN comment: LOOP SELECT 1; END LOOP; END",
        "l1: BEGIN SELECT 1; END",
        "commit: BEGIN SELECT 1; END",
        "begin: BEGIN SELECT 1; END",
        "START THE ENGINE",
        "SHOW TABLES",
        "PREPARE x",
        "COMMITTED",
        "`COMMIT`",
        "'COMMIT'",
        "(BEGIN)",
      })
  void leavesSparkItsOwn(String sql) throws ParseException {
    assertEquals(Optional.empty(), TransactionStatements.toCall(sql));
  }

  /** A malformed statement of ours says where it went wrong and what was expected there. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "BEGIN TRANSACTION FOO | 1 | 18 | FOO | ISOLATION LEVEL, COMMENT, IDEMPOTENCY KEY or the end",
        "BEGIN COMMENT 'a' ISOLATION | 1 | 18 | ISOLATION | IDEMPOTENCY KEY or the end",
        "BEGIN IDEMPOTENCY KEY 'a' COMMENT 'b' | 1 | 26 | COMMENT | the end",
        "BEGIN; SELECT 1 | 1 | 7 | SELECT | the end",
        "BEGIN ISOLATION LEVEL BOGUS | 1 | 22 | BOGUS | SNAPSHOT or SERIALIZABLE",
        "BEGIN ISOLATION LEVEL READ | 1 | 22 | READ | SNAPSHOT or SERIALIZABLE",
        "BEGIN ISOLATION SNAPSHOT | 1 | 16 | SNAPSHOT | LEVEL",
        "START TRANSACTION COMMENT later | 1 | 26 | later | a text in quotes",
        "BEGIN COMMENT | 1 | 13 | end of input | a text in quotes",
        "BEGIN COMMENT 'not closed | 1 | 14 | ' | a text in quotes",
        "COMMIT WORK X | 1 | 12 | X | the end",
        "COMMIT 'x' | 1 | 7 | 'x' | PREPARED, TRANSACTION, WORK or the end",
        "ROLLBACK TO 3 | 1 | 9 | TO | PREPARED, TRANSACTION, WORK or the end",
        "COMMIT PREPARED x | 1 | 16 | x | a text in quotes",
        "PREPARE TRANSACTION 'x' 'y' | 1 | 24 | 'y' | the end",
        "SHOW TRANSACTION ALL | 1 | 17 | ALL | the end",
      })
  void saysWhatWasExpected(String sql, int line, int column, String found, String expected) {
    ParseException error =
        assertThrows(ParseException.class, () -> TransactionStatements.toCall(sql));
    assertEquals("PARSE_SYNTAX_ERROR", error.getCondition());
    assertEquals("42601", error.getSqlState());
    assertEquals(line, error.start().line().get());
    assertEquals(column, error.start().startPosition().get());
    String near = found.equals("end of input") ? found : "'" + found + "'";
    String message = error.getMessage();
    assertTrue(message.contains("at or near " + near + ": expected " + expected), message);
  }

  /** Lines are counted, and a position counts within its line. */
  @Test
  void countsLines() {
    ParseException error =
        assertThrows(
            ParseException.class,
            () -> TransactionStatements.toCall("-- one\n/* two\n*/ COMMIT\r\n  WORK X"));
    assertEquals(4, error.start().line().get());
    assertEquals(7, error.start().startPosition().get());
  }

  /** No length of blanks, comments or literals exhausts the stack. */
  @Test
  void readsLongTexts() throws ParseException {
    for (String noise :
        new String[] {
          " ".repeat(MANY),
          "-- a line\n".repeat(MANY),
          "/* a comment */ ".repeat(MANY),
          "/* ".repeat(MANY) + "*/ ".repeat(MANY),
        }) {
      assertEquals(
          Optional.of("commit()"), TransactionStatements.toCall(noise + "COMMIT;" + noise));
      assertEquals(Optional.empty(), TransactionStatements.toCall(noise + "SELECT 1"));
      assertEquals(
          Optional.of(noise + "BEGIN        SELECT 1; END"),
          TransactionStatements.atomicBlock(noise + "BEGIN ATOMIC SELECT 1; END"));
    }
    String literal = "'" + "it''s \\'x\\' ".repeat(MANY) + "'";
    assertEquals(
        Optional.of("begin(message => " + literal + ")"),
        TransactionStatements.toCall("BEGIN COMMENT " + literal));
  }

  /** ATOMIC is blanked out, with a label or without, so that positions stay as they are. */
  @Test
  void blanksAtomic() {
    assertBlock("BEGIN ATOMIC SELECT 1; END", "BEGIN        SELECT 1; END");
    assertBlock("begin atomic/* c */SELECT 1; END", "begin       /* c */SELECT 1; END");
    assertBlock("l1 :\nBEGIN\nATOMIC SELECT 1; END", "l1 :\nBEGIN\n       SELECT 1; END");
    assertBlock("`my l`: BEGIN ATOMIC SELECT 1; END", "`my l`: BEGIN        SELECT 1; END");
  }

  /** Other blocks, and a label that is called ATOMIC, are Spark's. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "BEGIN SELECT 1; END",
        "BEGIN NOT ATOMIC SELECT 1; END",
        "BEGIN atomic: BEGIN SELECT 1; END; END",
        "SELECT 'BEGIN ATOMIC'",
        "BEGIN",
      })
  void leavesOtherBlocks(String sql) {
    assertEquals(Optional.empty(), TransactionStatements.atomicBlock(sql));
  }

  private static void assertBlock(String sql, String block) {
    assertEquals(Optional.of(block), TransactionStatements.atomicBlock(sql));
  }
}
