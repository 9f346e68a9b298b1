package io.trinitylake.spark;

import java.util.ArrayList;
import java.util.List;

/**
 * The tokens of an SQL text, cut as Spark's lexer cuts them, as far as somebody asks.
 *
 * <p>Blanks and comments are skipped: {@code --} to the end of the line, which a backslash before
 * it continues, and nested bracketed comments. A hint is no comment. It loops and never recurses,
 * so the length of a text does not matter.
 */
final class SqlTokens {
  /** What a token is. A sign is everything that no other kind covers, also an open quote. */
  enum Kind {
    WORD,
    NAME,
    LITERAL,
    SIGN,
    END
  }

  /**
   * One token.
   *
   * @param kind what it is
   * @param text how it is written, with its quotes
   * @param start index of its first character
   */
  record Token(Kind kind, String text, int start) {
    /** Whether this is a word, in any case. */
    boolean is(String word) {
      return kind == Kind.WORD && text.equalsIgnoreCase(word);
    }

    /** Whether this is a sign. */
    boolean isSign(char sign) {
      return kind == Kind.SIGN && text.charAt(0) == sign;
    }

    /** The index after its last character. */
    int end() {
      return start + text.length();
    }
  }

  /** What the grammar of Spark calls white space, which is not quite what Java does. */
  private static final String BLANKS =
      " \t\n\013\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
          + "\u2008\u2009\u200a\u2028\u202f\u205f\u3000";

  private final String sql;
  private final List<Token> tokens = new ArrayList<>();

  /** Reads a text. */
  SqlTokens(String sql) {
    this.sql = sql;
  }

  /**
   * A token by its number.
   *
   * @param index from 0; behind the last token, the end of the text is repeated
   */
  Token at(int index) {
    while (tokens.size() <= index) {
      tokens.add(read(tokens.isEmpty() ? 0 : tokens.get(tokens.size() - 1).end()));
    }
    return tokens.get(index);
  }

  private Token read(int from) {
    int start = skipNoise(from);
    if (start == sql.length()) {
      return new Token(Kind.END, "", start);
    }
    char first = sql.charAt(start);
    if (isWordPart(first)) {
      int end = start + 1;
      while (end < sql.length() && isWordPart(sql.charAt(end))) {
        end++;
      }
      return new Token(Kind.WORD, sql.substring(start, end), start);
    }
    int end = first == '\'' || first == '"' || first == '`' ? quotedEnd(start) : -1;
    if (end > 0) {
      Kind kind = first == '`' ? Kind.NAME : Kind.LITERAL;
      return new Token(kind, sql.substring(start, end), start);
    }
    return new Token(Kind.SIGN, sql.substring(start, start + 1), start);
  }

  /** The first index that is neither blank nor comment; an open comment is a sign. */
  private int skipNoise(int from) {
    int at = from;
    while (at < sql.length()) {
      int end;
      if (isBlank(sql.charAt(at))) {
        end = at + 1;
      } else if (sql.startsWith("--", at)) {
        end = lineEnd(at);
      } else if (opensComment(at)) {
        end = commentEnd(at);
      } else {
        return at;
      }
      if (end < 0) {
        return at;
      }
      at = end;
    }
    return at;
  }

  private int lineEnd(int from) {
    for (int at = from; at < sql.length(); at++) {
      char c = sql.charAt(at);
      if (c == '\r' || (c == '\n' && sql.charAt(at - 1) != '\\')) {
        return at;
      }
    }
    return sql.length();
  }

  private int commentEnd(int from) {
    int depth = 0;
    for (int at = from; at < sql.length() - 1; at++) {
      if (opensComment(at)) {
        depth++;
        at++;
      } else if (sql.startsWith("*/", at)) {
        depth--;
        at++;
        if (depth == 0) {
          return at + 1;
        }
      }
    }
    return -1;
  }

  private boolean opensComment(int at) {
    return sql.startsWith("/*", at) && !sql.startsWith("+", at + 2);
  }

  /**
   * The index after the closing quote, or -1. A doubled quote does not close, nor an escaped one;
   * but if nothing else closes, the last doubled quote's first half does.
   */
  private int quotedEnd(int start) {
    char quote = sql.charAt(start);
    int end = -1;
    for (int at = start + 1; at < sql.length(); at++) {
      char c = sql.charAt(at);
      if (c == '\\' && quote != '`') {
        at++;
      } else if (c == quote) {
        end = at + 1;
        if (!sql.startsWith(String.valueOf(quote), end)) {
          return end;
        }
        at++;
      }
    }
    return end;
  }

  private static boolean isWordPart(char c) {
    return c == '_' || Character.isLetterOrDigit(c);
  }

  private static boolean isBlank(char c) {
    return BLANKS.indexOf(c) >= 0;
  }
}
