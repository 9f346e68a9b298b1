package io.trinitylake.spark;

import java.util.Set;
import java.util.TreeSet;

/**
 * What each command of Spark and Delta does to things that outlast the session.
 *
 * <p>All are named, so that one which a newer Spark or an extension brings is told from those that
 * are known. A test holds the names against the jars.
 */
final class Commands {
  /** They only show something, or what they change ends with the session or the application. */
  static final Set<String> HARMLESS =
      names(
          """
          org.apache.spark.sql.catalyst.plans.logical
            CacheTable CacheTableAsSelect CloseCursor CompoundBody CreateVariable DeclareCursor
            DescribeColumn DescribeFunction DescribeNamespace DescribeRelation
            DescribeTablePartition DropVariable FetchCursor NoopCommand OpenCursor RefreshFunction
            RefreshTable SetCatalogAndNamespace SetVariable ShowColumns ShowCreateTable
            ShowFunctions ShowPartitions ShowTablePartition ShowTableProperties ShowTables
            ShowTablesExtended ShowViews UncacheTable
          org.apache.spark.sql.delta.commands
            DescribeDeltaDetailCommand DescribeDeltaHistoryCommand ShowDeltaPartitionsCommand
            ShowDeltaTableColumnsCommand
          org.apache.spark.sql.execution.command
            AddArchivesCommand AddFilesCommand AddJarsCommand ClearCacheCommand$
            DescribeColumnCommand DescribeDatabaseCommand DescribeFunctionCommand
            DescribeProcedureCommand DescribeQueryCommand DescribeRelationJsonCommand
            DescribeTableCommand DropTempViewCommand ExplainCommand ListArchivesCommand
            ListFilesCommand ListJarsCommand RefreshFunctionCommand RefreshTableCommand
            ResetCommand SetCatalogCommand SetCommand SetNamespaceCommand SetPathCommand
            ShowCatalogsCommand ShowCollationsCommand ShowColumnsCommand
            ShowCreateTableAsSerdeCommand ShowCreateTableCommand ShowCurrentNamespaceCommand
            ShowFunctionsCommand ShowNamespacesCommand ShowPartitionsCommand ShowProceduresCommand
            ShowTablePropertiesCommand ShowTablesCommand ShowViewsCommand StreamingExplainCommand
          org.apache.spark.sql.execution.datasources
            CreateTempViewUsing RefreshResource
          """);

  /** They change something that lasts, unless they say that it is temporary. */
  static final Set<String> PERHAPS_TEMPORARY =
      names(
          """
          org.apache.spark.sql.execution.command
            AlterTableRenameCommand AlterViewAsCommand CreateFunctionCommand
            CreateSQLFunctionCommand CreateViewCommand DropFunctionCommand
          """);

  /** They change what their first argument, a plan, stands for. */
  static final Set<String> FIRST =
      names(
          """
          io.delta.tables.execution
            VacuumTableCommand
          org.apache.spark.sql.catalyst.plans.logical
            AddCheckConstraint AddColumns AddConstraint AddPartitions AlterColumnSyncIdentity
            AlterColumns AlterTableAddConstraint AlterTableClusterBy AlterTableCollation
            AlterTableDropConstraint AlterTableDropFeature AlterViewAs AlterViewSchemaBinding
            AnalyzeColumn AnalyzeTable AnalyzeTables AppendData CommentOnNamespace CommentOnTable
            CreateFlowCommand CreateFunction CreateIndex CreateMaterializedViewAsSelect
            CreateNamespace CreateStreamingTable CreateStreamingTableAsSelect CreateTable
            CreateTableAsSelect CreateTableLike CreateUserDefinedFunction CreateView
            DeleteFromTable DeleteFromTableWithFilters DeltaMergeInto DropColumns DropConstraint
            DropFunction DropIndex DropNamespace DropPartitions DropTable DropView InsertOnlyMerge
            LoadData MergeIntoTable OverwriteByExpression OverwritePartitionsDynamic
            RecoverPartitions RenameColumn RenamePartitions RenameTable RepairTable ReplaceColumns
            ReplaceData ReplaceTable ReplaceTableAsSelect SetNamespaceLocation
            SetNamespaceProperties SetTableLocation SetTableProperties SetTableSerDeProperties
            SetViewProperties TruncatePartition TruncateTable UnsetTableProperties
            UnsetViewProperties UpdateTable WriteDelta
          org.apache.spark.sql.delta
            DeltaDynamicPartitionOverwriteCommand
          org.apache.spark.sql.delta.commands
            DeltaGenerateCommand DeltaReorgTable DeltaReorgTableCommand OptimizeTableCommand
            TruncateDeltaTableCommand
          org.apache.spark.sql.delta.skipping.clustering.temp
            AlterTableClusterBy
          org.apache.spark.sql.execution.command
            CreateMetricViewCommand SetNamespaceCollationCommand UnsetNamespacePropertiesCommand
          org.apache.spark.sql.metricview.logical
            CreateMetricView
          """);

  /** They change a table that one of their arguments names, or something without such a name. */
  static final Set<String> ANY =
      names(
          """
          org.apache.spark.sql.delta.commands
            AlterTableAddColumnsDeltaCommand AlterTableAddConstraintDeltaCommand
            AlterTableChangeColumnDeltaCommand AlterTableClusterByDeltaCommand
            AlterTableDropColumnsDeltaCommand AlterTableDropConstraintDeltaCommand
            AlterTableDropFeatureDeltaCommand AlterTableReplaceColumnsDeltaCommand
            AlterTableSetLocationDeltaCommand AlterTableSetPropertiesDeltaCommand
            AlterTableUnsetPropertiesDeltaCommand CloneTableCommand ConvertToDeltaCommand
            CreateDeltaTableCommand DeleteCommand DeltaInsertReplaceOnOrUsingCommand
            MergeIntoCommand RestoreTableCommand UpdateCommand WriteIntoDelta
          org.apache.spark.sql.delta.commands.backfill
            RowTrackingBackfillCommand RowTrackingUnBackfillCommand
          org.apache.spark.sql.execution.command
            AlterDatabasePropertiesCommand AlterDatabaseSetLocationCommand
            AlterTableAddColumnsCommand AlterTableAddPartitionCommand
            AlterTableChangeColumnCommand AlterTableDropPartitionCommand
            AlterTableRenamePartitionCommand AlterTableSerDePropertiesCommand
            AlterTableSetLocationCommand AlterTableSetPropertiesCommand
            AlterTableUnsetPropertiesCommand AlterViewSchemaBindingCommand AnalyzeColumnCommand
            AnalyzePartitionCommand AnalyzeTableCommand AnalyzeTablesCommand
            CreateDataSourceTableAsSelectCommand CreateDataSourceTableCommand
            CreateDatabaseCommand CreateTableCommand CreateTableLikeCommand DropDatabaseCommand
            DropTableCommand ExternalCommandExecutor InsertIntoDataSourceDirCommand
            LoadDataCommand RepairTableCommand SaveAsV1TableCommand TruncateTableCommand
          org.apache.spark.sql.execution.datasources
            InsertIntoDataSourceCommand InsertIntoHadoopFsRelationCommand SaveIntoDataSourceCommand
          org.apache.spark.sql.hive.execution
            CreateHiveTableAsSelectCommand InsertIntoHiveDirCommand InsertIntoHiveTable
          """);

  private Commands() {}

  /** The full names in a list of packages, each with its classes on the lines below. */
  private static Set<String> names(String list) {
    Set<String> names = new TreeSet<>();
    String folder = "";
    for (String line : list.split("\n")) {
      if (!line.startsWith(" ")) {
        folder = line;
        continue;
      }
      for (String name : line.strip().split(" ")) {
        names.add(folder + "." + name);
      }
    }
    return Set.copyOf(names);
  }
}
