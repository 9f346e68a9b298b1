package io.trinitylake.spark;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.MetadataAttribute$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.V2TableUtil;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.errors.QueryCompilationErrors;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.SchemaValidationMode;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** The relations of a plan that read tables of ours, and how each is made to read another state. */
final class Relations {
  private Relations() {}

  /** The table that a node reads, if it follows the lakehouse; null for any other node. */
  static OpenedTable table(LogicalPlan node) {
    OpenedTable opened = null;
    if (node instanceof DataSourceV2Relation relation
        && relation.timeTravelSpec().isEmpty()
        && relation.table() instanceof KernelTable kernel) {
      opened = kernel.opened();
    } else if (node instanceof LogicalRelation relation
        && !relation.isStreaming()
        && relation.relation() instanceof HadoopFsRelation files
        && files.location() instanceof TahoeLogFileIndex index
        && !index.isTimeTravelQuery()) {
      opened = OpenedCatalogTable.opened(relation.catalogTable());
    }
    return opened == null || opened.load().isFixed() ? null : opened;
  }

  /**
   * The same relation, with the same columns, over another state of its table.
   *
   * @param node a node that {@link #table} knows
   * @param now the table as it must be read
   * @param mode which changes of its columns the plan can bear
   */
  static LogicalPlan reading(
      SparkSession spark, LogicalPlan node, OpenedTable now, SchemaValidationMode mode) {
    return node instanceof DataSourceV2Relation relation
        ? reading(relation, now, mode)
        : reading(spark, (LogicalRelation) node, now, mode);
  }

  private static LogicalPlan reading(
      DataSourceV2Relation relation, OpenedTable now, SchemaValidationMode mode) {
    KernelTable old = (KernelTable) relation.table();
    KernelTable table = old;
    if (!old.opened().path().equals(now.path())) {
      table = new KernelTable(now, old.getOptions());
      V2TableUtil.validateTableId(relation.name(), old.id(), table);
      refuse(relation.name(), V2TableUtil.validateCapturedColumns(table, relation, mode, true));
      refuse(
          relation.name(),
          V2TableUtil.validateCapturedMetadataColumns(table, relation, mode, true));
    }
    DataSourceV2Relation pinned =
        relation.copy(
            table,
            relation.output(),
            Option.apply(now.owner().pinned()),
            relation.identifier(),
            relation.options(),
            relation.timeTravelSpec());
    pinned.copyTagsFrom(relation);
    return pinned;
  }

  private static LogicalPlan reading(
      SparkSession spark, LogicalRelation relation, OpenedTable now, SchemaValidationMode mode) {
    OpenedTable old = OpenedCatalogTable.opened(relation.catalogTable());
    if (old.path().equals(now.path())) {
      return relation;
    }
    ClassicTable table = new ClassicTable(spark, now);
    V2TableUtil.validateTableId(now.name(), old.tableId(), table);
    List<AttributeReference> output = output(now, relation, table, mode);
    LogicalRelation pinned =
        new LogicalRelation(
            table.toBaseRelation(),
            Scala.seq(output),
            Option.apply(table.catalogTable().get()),
            false,
            Scala.none());
    pinned.copyTagsFrom(relation);
    if (output.size() == relation.output().size()) {
      return pinned;
    }
    List<NamedExpression> asBefore = new ArrayList<>();
    CollectionConverters.asJava(relation.output()).forEach(asBefore::add);
    return new Project(Scala.seq(asBefore), pinned);
  }

  /** The columns of the new state, those that the plan knows under the ids that it knows. */
  private static List<AttributeReference> output(
      OpenedTable now, LogicalRelation relation, Table table, SchemaValidationMode mode) {
    Map<String, AttributeReference> fresh = new LinkedHashMap<>();
    for (AttributeReference column :
        CollectionConverters.asJava(
            DataSourceV2Relation.create(table, Scala.none(), Scala.none()).output())) {
      fresh.put(column.name().toLowerCase(Locale.ROOT), column);
    }
    List<String> errors = new ArrayList<>();
    List<AttributeReference> output = new ArrayList<>();
    for (AttributeReference known : CollectionConverters.asJava(relation.output())) {
      AttributeReference column = fresh.remove(known.name().toLowerCase(Locale.ROOT));
      if (column == null && !MetadataAttribute$.MODULE$.unapply(known).isDefined()) {
        errors.add("`" + known.name() + "` has been removed");
      } else if (column != null
          && !(column.dataType().equals(known.dataType())
              && (known.nullable() || !column.nullable()))) {
        errors.add("`" + known.name() + "` has another type now");
      }
      output.add(known);
    }
    if (mode == SchemaValidationMode.PROHIBIT_CHANGES$.MODULE$) {
      fresh.keySet().forEach(name -> errors.add("`" + name + "` has been added"));
    }
    refuse(now.name(), Scala.seq(errors));
    output.addAll(fresh.values());
    return output;
  }

  private static void refuse(String name, Seq<String> errors) {
    if (!errors.isEmpty()) {
      throw Sneaky.raise(QueryCompilationErrors.columnsChangedAfterAnalysis(name, errors));
    }
  }
}
