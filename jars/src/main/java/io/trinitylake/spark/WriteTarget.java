package io.trinitylake.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.GlobalTempView$;
import org.apache.spark.sql.catalyst.analysis.LocalTempView$;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedNamespace;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.execution.command.AlterTableRenameCommand;
import org.apache.spark.sql.execution.command.AlterViewAsCommand;
import org.apache.spark.sql.execution.command.CreateFunctionCommand;
import org.apache.spark.sql.execution.command.CreateSQLFunctionCommand;
import org.apache.spark.sql.execution.command.CreateViewCommand;
import org.apache.spark.sql.execution.command.DropFunctionCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;
import scala.collection.Iterator;
import scala.runtime.BoxedUnit;

/** Which catalogs an analysed plan changes. */
final class WriteTarget {
  /** What stands for files and tables outside of any catalog. */
  static final String ELSEWHERE = "a place outside of any catalog";

  private final SparkSession spark;

  /** Looks at plans of a session, whose temporary names it knows. */
  WriteTarget(SparkSession spark) {
    this.spark = spark;
  }

  /**
   * Tells what the commands in an analysed plan change; an INSERT of several tables has some.
   *
   * @return names of catalogs, {@link #ELSEWHERE}, or what says that it is not known; nothing for a
   *     plan that changes nothing which lasts
   */
  List<String> of(LogicalPlan plan) {
    List<String> targets = new ArrayList<>();
    plan.foreach(
        node -> {
          if (node instanceof Command) {
            ofCommand(node).ifPresent(targets::add);
          }
          return BoxedUnit.UNIT;
        });
    return targets;
  }

  private Optional<String> ofCommand(LogicalPlan command) {
    String name = command.getClass().getName();
    if (Commands.HARMLESS.contains(name)) {
      return Optional.empty();
    } else if (Commands.FIRST.contains(name)) {
      return Optional.of(inside((LogicalPlan) command.productElement(0)));
    } else if (Commands.ANY.contains(name)) {
      return Optional.of(argument(command));
    } else if (Commands.PERHAPS_TEMPORARY.contains(name)) {
      return isTemporary(command) ? Optional.empty() : Optional.of(argument(command));
    }
    return Optional.of("whatever " + name + " changes");
  }

  private boolean isTemporary(LogicalPlan command) {
    if (command instanceof CreateViewCommand view) {
      return view.viewType().equals(LocalTempView$.MODULE$)
          || view.viewType().equals(GlobalTempView$.MODULE$);
    } else if (command instanceof AlterViewAsCommand view) {
      return isTemporary(view.name());
    } else if (command instanceof AlterTableRenameCommand rename) {
      return isTemporary(rename.oldName());
    } else if (command instanceof CreateSQLFunctionCommand function) {
      return function.isTemp();
    } else if (command instanceof CreateFunctionCommand function) {
      return function.isTemp();
    }
    return ((DropFunctionCommand) command).isTemp();
  }

  private boolean isTemporary(TableIdentifier view) {
    return spark.sessionState().catalog().isTempView(view);
  }

  /** The catalog of the first argument that names a table; queries, which only read, name none. */
  private static String argument(LogicalPlan command) {
    Iterator<Object> arguments = command.productIterator();
    while (arguments.hasNext()) {
      Object argument = arguments.next();
      if (argument instanceof Option<?> option && option.isDefined()) {
        argument = option.get();
      }
      if (argument instanceof TableIdentifier table) {
        return catalog(Option.apply(table));
      } else if (argument instanceof CatalogTable table) {
        return catalog(Option.apply(table.identifier()));
      } else if (argument instanceof DeltaTableV2 table) {
        return catalog(table.catalogTable().map(CatalogTable::identifier));
      }
    }
    return ELSEWHERE;
  }

  /** The catalog of what a plan stands for: a name, or a relation that may have an alias. */
  private static String inside(LogicalPlan plan) {
    if (plan instanceof ResolvedTable table) {
      // A handle names its table by the path that it was opened at.
      String ofPath =
          table.table() instanceof DeltaTableV2 delta
              ? Catalogs.ofPath(delta.path().toString())
              : null;
      return ofPath == null ? table.catalog().name() : ofPath;
    } else if (plan instanceof ResolvedIdentifier identifier) {
      return identifier.catalog().name();
    } else if (plan instanceof ResolvedNamespace namespace) {
      return namespace.catalog().name();
    } else if (plan instanceof DataSourceV2Relation relation) {
      return relation.catalog().isEmpty() ? ELSEWHERE : relation.catalog().get().name();
    } else if (plan instanceof LogicalRelation relation) {
      return catalog(relation.catalogTable().map(CatalogTable::identifier));
    }
    return plan.children().isEmpty() ? ELSEWHERE : inside(plan.children().head());
  }

  private static String catalog(Option<TableIdentifier> table) {
    Option<String> catalog = table.flatMap(TableIdentifier::catalog);
    return catalog.isEmpty() ? ELSEWHERE : catalog.get();
  }
}
