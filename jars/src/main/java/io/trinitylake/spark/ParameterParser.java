package io.trinitylake.spark;

import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Spark's parser with the parameters of one statement bound.
 *
 * <p>Delta's parser, which stands before it, drops the parameters of {@code spark.sql(…, args)}.
 */
final class ParameterParser extends DelegatingParser {
  private final ParameterContext parameters;

  /** Binds parameters. */
  ParameterParser(ParserInterface delegate, ParameterContext parameters) {
    super(delegate);
    this.parameters = parameters;
  }

  @Override
  public LogicalPlan parsePlan(String sql) throws ParseException {
    return delegate.parsePlanWithParameters(sql, parameters);
  }
}
