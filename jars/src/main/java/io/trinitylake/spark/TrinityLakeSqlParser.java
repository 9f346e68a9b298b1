package io.trinitylake.spark;

import io.delta.sql.parser.DeltaSqlParser;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Takes the transaction statements and hands everything else on, untouched. */
final class TrinityLakeSqlParser extends DelegatingParser {
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
