package io.trinitylake.spark;

import java.util.Optional;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedNamespace;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2CreateTablePlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.commands.DeleteCommand;
import org.apache.spark.sql.delta.commands.MergeIntoCommand;
import org.apache.spark.sql.delta.commands.UpdateCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;

/** Which catalog a command changes. */
final class WriteTarget {
  /** What stands for files and tables outside of any catalog. */
  static final String ELSEWHERE = "a place outside of any catalog";

  /** Names of commands, as Spark and Delta call them, that change something that lasts. */
  private static final Pattern CHANGES =
      Pattern.compile(
          "(Add|Alter|Append|Clone|Convert|Create|DeltaReorg|Delete|Drop"
              + "|Insert|LoadData|Merge|Optimize|Overwrite|Rename|Replace|Restore|Save|SetNamespace"
              + "|SetTable|Truncate|UnsetNamespace|UnsetTable|Update|Vacuum).*");

  /** Commands among them whose effect stays in the session. */
  private static final Pattern SESSION =
      Pattern.compile(
          "(Add(Jar|File|Archive)|Create(View|Temp|Variable|Function)|Drop(Temp|Variable|Function)).*");

  private WriteTarget() {}

  /**
   * Tells what an analysed plan changes.
   *
   * @return a catalog's name, or {@link #ELSEWHERE}; empty if it changes nothing that lasts
   */
  static Optional<String> of(LogicalPlan plan) {
    if (!(plan instanceof Command)) {
      return Optional.empty();
    }
    String command = plan.getClass().getSimpleName();
    if (!CHANGES.matcher(command).matches() || SESSION.matcher(command).matches()) {
      return Optional.empty();
    }
    if (plan instanceof V2WriteCommand write) {
      return Optional.of(inside((LogicalPlan) write.table()));
    } else if (plan instanceof V2CreateTablePlan create) {
      return Optional.of(inside(create.name()));
    } else if (plan instanceof DeleteCommand delete) {
      return Optional.of(catalog(delete.catalogTable()).orElse(ELSEWHERE));
    } else if (plan instanceof UpdateCommand update) {
      return Optional.of(catalog(update.catalogTable()).orElse(ELSEWHERE));
    } else if (plan instanceof MergeIntoCommand merge) {
      return Optional.of(catalog(merge.catalogTable()).orElse(ELSEWHERE));
    }
    return Optional.of(plan.children().isEmpty() ? ELSEWHERE : inside(plan.children().head()));
  }

  private static String inside(LogicalPlan plan) {
    return catalog(plan)
        .or(
            () ->
                plan.children().isEmpty()
                    ? Optional.empty()
                    : Optional.of(inside(plan.children().head())))
        .orElse(ELSEWHERE);
  }

  private static Optional<String> catalog(LogicalPlan plan) {
    if (plan instanceof ResolvedTable table) {
      // A handle names its table by the path that it was opened at.
      String ofPath =
          table.table() instanceof DeltaTableV2 delta
              ? Catalogs.ofPath(delta.path().toString())
              : null;
      return Optional.of(ofPath == null ? table.catalog().name() : ofPath);
    } else if (plan instanceof ResolvedIdentifier identifier) {
      return Optional.of(identifier.catalog().name());
    } else if (plan instanceof ResolvedNamespace namespace) {
      return Optional.of(namespace.catalog().name());
    } else if (plan instanceof DataSourceV2Relation relation) {
      Option<CatalogPlugin> catalog = relation.catalog();
      return catalog.isEmpty() ? Optional.empty() : Optional.of(catalog.get().name());
    } else if (plan instanceof LogicalRelation relation) {
      return catalog(relation.catalogTable());
    }
    return Optional.empty();
  }

  private static Optional<String> catalog(Option<CatalogTable> table) {
    Option<String> catalog = table.isEmpty() ? Scala.none() : table.get().identifier().catalog();
    return catalog.isEmpty() ? Optional.empty() : Optional.of(catalog.get());
  }
}
