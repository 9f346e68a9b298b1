package io.trinitylake.spark;

import io.delta.sql.parser.DeltaSqlParser;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Takes the transaction statements, and the names of our tables that Delta's own classes ask for.
 *
 * <p>Everything else goes on to Spark and Delta, untouched.
 */
final class TrinityLakeSqlParser extends DelegatingParser {
  private static final String DELTA_API = "io.delta.tables.";
  private static final int NAME_PARTS = 3;

  private final SparkSession spark;

  /**
   * Stands before another parser.
   *
   * @param delegate the parser that knows everything else
   */
  TrinityLakeSqlParser(SparkSession spark, ParserInterface delegate) {
    super(delegate);
    this.spark = spark;
  }

  @Override
  public LogicalPlan parsePlan(String sql) throws ParseException {
    Optional<String> block = TransactionStatements.atomicBlock(sql);
    if (block.isPresent()) {
      return AtomicBlock.of(delegate.parsePlan(block.get()));
    }
    return delegate.parsePlan(rewritten(sql));
  }

  @Override
  public LogicalPlan parsePlanWithParameters(String sql, ParameterContext parameters)
      throws ParseException {
    Optional<String> block = TransactionStatements.atomicBlock(sql);
    if (block.isPresent()) {
      return AtomicBlock.of(parsedWithParameters(block.get(), parameters));
    }
    return parsedWithParameters(rewritten(sql), parameters);
  }

  /** {@code DeltaTable} looks short names up in {@code spark_catalog}, wherever the session is. */
  @Override
  public Seq<String> parseMultipartIdentifier(String sql) throws ParseException {
    Seq<String> parts = super.parseMultipartIdentifier(sql);
    return parts.length() < NAME_PARTS && isForDelta() && Catalogs.isOurs(spark, parts)
        ? Scala.seq(Catalogs.fullName(spark, parts))
        : parts;
  }

  /** Spark's own stops at two parts, and Delta's builders ask for nothing else. */
  @Override
  public TableIdentifier parseTableIdentifier(String sql) throws ParseException {
    Seq<String> parts = parseMultipartIdentifier(sql);
    return parts.length() == NAME_PARTS && Catalogs.isOurs(spark, parts)
        ? new TableIdentifier(
            parts.apply(2), Option.apply(parts.apply(1)), Option.apply(parts.apply(0)))
        : super.parseTableIdentifier(sql);
  }

  private static boolean isForDelta() {
    return StackWalker.getInstance()
        .walk(frames -> frames.anyMatch(frame -> frame.getClassName().startsWith(DELTA_API)));
  }

  private LogicalPlan parsedWithParameters(String sql, ParameterContext parameters)
      throws ParseException {
    if (delegate instanceof DeltaSqlParser delta) {
      ParserInterface bound = new ParameterParser(delta.delegate(), parameters);
      return new DeltaSqlParser(bound).parsePlan(sql);
    }
    return delegate.parsePlanWithParameters(sql, parameters);
  }

  private String rewritten(String sql) throws ParseException {
    StatementScope.parsing();
    return TransactionStatements.toCall(sql)
        .map(call -> "CALL `" + Catalogs.ofTransaction(spark) + "`.system." + call)
        .orElse(sql);
  }
}
