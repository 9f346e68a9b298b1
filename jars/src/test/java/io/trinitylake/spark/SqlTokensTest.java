package io.trinitylake.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.Token;
import org.apache.spark.sql.catalyst.parser.SqlBaseLexer;
import org.apache.spark.sql.catalyst.parser.UpperCaseCharStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Blanks, comments, words and literals begin and end where Spark's own lexer says. */
final class SqlTokensTest {
  private static final int RANDOM_TEXTS = 20_000;
  private static final String[] PARTS = {
    " ",
    "\n",
    "\r",
    "\t",
    "\u00a0",
    "\u2003",
    "--",
    "/*",
    "*/",
    "/",
    "*",
    "+",
    "-",
    "\\",
    "\\\n",
    "'",
    "''",
    "\"",
    "\"\"",
    "`",
    "``",
    ";",
    ":",
    ".",
    "(",
    "BEGIN",
    "commit",
    "_a1",
    "\u00e9t\u00e9"
  };

  /** Texts with a known difficulty are cut as Spark's lexer cuts them. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "/* /* nested */ COMMIT */ BEGIN",
        "/*+ a hint is no comment */ COMMIT",
        "/* /*+ a hint opens none */ COMMIT",
        "/*/ COMMIT */ BEGIN",
        "/* 'no literal */ COMMIT",
        "/* never closed",
        "-- goes on \\\n here\nCOMMIT",
        "-- old line end\rCOMMIT",
        "--",
        "'a''b' 'a\\'b' \"a\"\"b\" \"a\\\"b\" `a``b`",
        "'not closed",
        "\u00a0\u1680\u2000\u200a\u2028\u202f\u205f\u3000COMMIT",
        "",
      })
  void cutsAsSparkDoes(String sql) {
    assertEquals(ofSpark(sql), ours(sql), sql);
  }

  /** So are texts put together at random from everything that is special. */
  @Test
  void cutsRandomTextsAsSparkDoes() {
    Random random = new Random(4);
    for (int i = 0; i < RANDOM_TEXTS; i++) {
      StringBuilder sql = new StringBuilder();
      for (int parts = random.nextInt(12); parts >= 0; parts--) {
        sql.append(PARTS[random.nextInt(PARTS.length)]);
      }
      assertEquals(ofSpark(sql.toString()), ours(sql.toString()), sql.toString());
    }
  }

  private static List<String> ours(String sql) {
    List<String> result = new ArrayList<>();
    SqlTokens tokens = new SqlTokens(sql);
    for (int i = 0; tokens.at(i).kind() != SqlTokens.Kind.END; i++) {
      SqlTokens.Token token = tokens.at(i);
      if (token.kind() == SqlTokens.Kind.SIGN) {
        // Of signs only the first matters: what follows one is Spark's to read.
        return with(result, "SIGN " + token.start());
      }
      result.add(token.kind() + " " + token.start() + " " + token.text());
    }
    return result;
  }

  private static List<String> ofSpark(String sql) {
    SqlBaseLexer lexer = new SqlBaseLexer(new UpperCaseCharStream(CharStreams.fromString(sql)));
    lexer.removeErrorListeners();
    List<String> result = new ArrayList<>();
    for (Token token = lexer.nextToken(); token.getType() != Token.EOF; token = lexer.nextToken()) {
      if (lexer.has_unclosed_bracketed_comment) {
        return with(result, "SIGN " + token.getStartIndex());
      } else if (token.getChannel() == Token.DEFAULT_CHANNEL) {
        String kind = kindOf(token);
        if (kind.equals("SIGN")) {
          return with(result, "SIGN " + token.getStartIndex());
        }
        result.add(kind + " " + token.getStartIndex() + " " + token.getText());
      }
    }
    return result;
  }

  private static String kindOf(Token token) {
    return switch (token.getType()) {
      case SqlBaseLexer.STRING_LITERAL, SqlBaseLexer.DOUBLEQUOTED_STRING -> "LITERAL";
      case SqlBaseLexer.BACKQUOTED_IDENTIFIER -> "NAME";
      case SqlBaseLexer.BEGIN, SqlBaseLexer.COMMIT, SqlBaseLexer.IDENTIFIER -> "WORD";
      default -> "SIGN";
    };
  }

  private static List<String> with(List<String> tokens, String last) {
    tokens.add(last);
    return tokens;
  }
}
