package io.trinitylake.spark;

import io.delta.sql.parser.DeltaSqlParser;
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
    return delegate.parsePlan(rewritten(sql));
  }

  @Override
  public LogicalPlan parsePlanWithParameters(String sql, ParameterContext parameters)
      throws ParseException {
    if (delegate instanceof DeltaSqlParser delta) {
      ParserInterface bound = new ParameterParser(delta.delegate(), parameters);
      return new DeltaSqlParser(bound).parsePlan(rewritten(sql));
    }
    return delegate.parsePlanWithParameters(rewritten(sql), parameters);
  }

  private String rewritten(String sql) {
    StatementScope.parsing();
    return TransactionStatements.toCall(sql)
        .map(call -> "CALL `" + Catalogs.ofTransaction(spark) + "`.system." + call)
        .orElse(sql);
  }
}
