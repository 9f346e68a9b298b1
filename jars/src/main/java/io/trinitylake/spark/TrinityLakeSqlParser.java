package io.trinitylake.spark;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** Takes the transaction statements and hands everything else on, untouched. */
final class TrinityLakeSqlParser implements ParserInterface {
  private final SparkSession spark;
  private final ParserInterface delegate;

  /**
   * Stands before another parser.
   *
   * @param delegate the parser that knows everything else
   */
  TrinityLakeSqlParser(SparkSession spark, ParserInterface delegate) {
    this.spark = spark;
    this.delegate = delegate;
  }

  @Override
  public LogicalPlan parsePlan(String sql) throws ParseException {
    return delegate.parsePlan(rewritten(sql));
  }

  @Override
  public LogicalPlan parsePlanWithParameters(String sql, ParameterContext parameters)
      throws ParseException {
    return delegate.parsePlanWithParameters(rewritten(sql), parameters);
  }

  @Override
  public LogicalPlan parseQuery(String sql) throws ParseException {
    return delegate.parseQuery(sql);
  }

  @Override
  public Expression parseExpression(String sql) throws ParseException {
    return delegate.parseExpression(sql);
  }

  @Override
  public TableIdentifier parseTableIdentifier(String sql) throws ParseException {
    return delegate.parseTableIdentifier(sql);
  }

  @Override
  public FunctionIdentifier parseFunctionIdentifier(String sql) throws ParseException {
    return delegate.parseFunctionIdentifier(sql);
  }

  @Override
  public Seq<String> parseMultipartIdentifier(String sql) throws ParseException {
    return delegate.parseMultipartIdentifier(sql);
  }

  @Override
  public StructType parseRoutineParam(String sql) throws ParseException {
    return delegate.parseRoutineParam(sql);
  }

  @Override
  public DataType parseDataType(String sql) throws ParseException {
    return delegate.parseDataType(sql);
  }

  @Override
  public StructType parseTableSchema(String sql) throws ParseException {
    return delegate.parseTableSchema(sql);
  }

  private String rewritten(String sql) {
    return TransactionStatements.toCall(sql)
        .map(call -> "CALL `" + Catalogs.ofTransaction(spark) + "`.system." + call)
        .orElse(sql);
  }
}
