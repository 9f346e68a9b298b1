from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class IsolationLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SNAPSHOT: _ClassVar[IsolationLevel]
    SERIALIZABLE: _ClassVar[IsolationLevel]

class DataType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BOOLEAN: _ClassVar[DataType]
    INT2: _ClassVar[DataType]
    INT4: _ClassVar[DataType]
    INT8: _ClassVar[DataType]
    DECIMAL: _ClassVar[DataType]
    FLOAT4: _ClassVar[DataType]
    FLOAT8: _ClassVar[DataType]
    CHAR: _ClassVar[DataType]
    VARCHAR: _ClassVar[DataType]
    DATE: _ClassVar[DataType]
    TIME: _ClassVar[DataType]
    TIMETZ: _ClassVar[DataType]
    TIMESTAMP: _ClassVar[DataType]
    TIMESTAMPTZ: _ClassVar[DataType]
    FIXED: _ClassVar[DataType]
    BINARY: _ClassVar[DataType]
    STRUCT: _ClassVar[DataType]
    MAP: _ClassVar[DataType]
    LIST: _ClassVar[DataType]

class ViewFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUBSTRAIT: _ClassVar[ViewFormat]

class TransactionState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OPEN: _ClassVar[TransactionState]
    COMMITTING: _ClassVar[TransactionState]
    COMMITTED: _ClassVar[TransactionState]
    ABORTED: _ClassVar[TransactionState]

class ConstraintType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KEY_PRESENT: _ClassVar[ConstraintType]
    KEY_ABSENT: _ClassVar[ConstraintType]
    RANGE_EMPTY: _ClassVar[ConstraintType]

class ActionObjectType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CATALOG: _ClassVar[ActionObjectType]
    NAMESPACE: _ClassVar[ActionObjectType]
    TABLE: _ClassVar[ActionObjectType]
    VIEW: _ClassVar[ActionObjectType]
    DISTRIBUTED_TRANSACTION: _ClassVar[ActionObjectType]

class ActionType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SHOW_NAMESPACES: _ClassVar[ActionType]
    NAMESPACE_EXISTS: _ClassVar[ActionType]
    NAMESPACE_DESCRIBE: _ClassVar[ActionType]
    NAMESPACE_CREATE: _ClassVar[ActionType]
    NAMESPACE_ALTER: _ClassVar[ActionType]
    NAMESPACE_ALTER_SET_PROPERTIES: _ClassVar[ActionType]
    NAMESPACE_ALTER_UNSET_PROPERTIES: _ClassVar[ActionType]
    NAMESPACE_DROP: _ClassVar[ActionType]
    NAMESPACE_SHOW_TABLES: _ClassVar[ActionType]
    NAMESPACE_SHOW_VIEWS: _ClassVar[ActionType]
    TABLE_EXISTS: _ClassVar[ActionType]
    TABLE_DESCRIBE: _ClassVar[ActionType]
    TABLE_SELECT: _ClassVar[ActionType]
    TABLE_CREATE: _ClassVar[ActionType]
    TABLE_ALTER: _ClassVar[ActionType]
    TABLE_ALTER_ADD_COLUMNS: _ClassVar[ActionType]
    TABLE_ALTER_REMOVE_COLUMNS: _ClassVar[ActionType]
    TABLE_INSERT: _ClassVar[ActionType]
    TABLE_UPDATE: _ClassVar[ActionType]
    TABLE_DELETE: _ClassVar[ActionType]
    TABLE_DROP: _ClassVar[ActionType]
    VIEW_EXISTS: _ClassVar[ActionType]
    VIEW_DESCRIBE: _ClassVar[ActionType]
    VIEW_CREATE: _ClassVar[ActionType]
    VIEW_REPLACE: _ClassVar[ActionType]
    VIEW_DROP: _ClassVar[ActionType]
    INSERT_OVERWRITE: _ClassVar[ActionType]
    TRUNCATE: _ClassVar[ActionType]
    MINOR_COMPACT: _ClassVar[ActionType]
    MAJOR_COMPACT: _ClassVar[ActionType]
    CLUSTER: _ClassVar[ActionType]
    LAKEHOUSE_ALTER: _ClassVar[ActionType]
    ROLLBACK: _ClassVar[ActionType]
    EXPORT: _ClassVar[ActionType]
SNAPSHOT: IsolationLevel
SERIALIZABLE: IsolationLevel
BOOLEAN: DataType
INT2: DataType
INT4: DataType
INT8: DataType
DECIMAL: DataType
FLOAT4: DataType
FLOAT8: DataType
CHAR: DataType
VARCHAR: DataType
DATE: DataType
TIME: DataType
TIMETZ: DataType
TIMESTAMP: DataType
TIMESTAMPTZ: DataType
FIXED: DataType
BINARY: DataType
STRUCT: DataType
MAP: DataType
LIST: DataType
SUBSTRAIT: ViewFormat
OPEN: TransactionState
COMMITTING: TransactionState
COMMITTED: TransactionState
ABORTED: TransactionState
KEY_PRESENT: ConstraintType
KEY_ABSENT: ConstraintType
RANGE_EMPTY: ConstraintType
CATALOG: ActionObjectType
NAMESPACE: ActionObjectType
TABLE: ActionObjectType
VIEW: ActionObjectType
DISTRIBUTED_TRANSACTION: ActionObjectType
SHOW_NAMESPACES: ActionType
NAMESPACE_EXISTS: ActionType
NAMESPACE_DESCRIBE: ActionType
NAMESPACE_CREATE: ActionType
NAMESPACE_ALTER: ActionType
NAMESPACE_ALTER_SET_PROPERTIES: ActionType
NAMESPACE_ALTER_UNSET_PROPERTIES: ActionType
NAMESPACE_DROP: ActionType
NAMESPACE_SHOW_TABLES: ActionType
NAMESPACE_SHOW_VIEWS: ActionType
TABLE_EXISTS: ActionType
TABLE_DESCRIBE: ActionType
TABLE_SELECT: ActionType
TABLE_CREATE: ActionType
TABLE_ALTER: ActionType
TABLE_ALTER_ADD_COLUMNS: ActionType
TABLE_ALTER_REMOVE_COLUMNS: ActionType
TABLE_INSERT: ActionType
TABLE_UPDATE: ActionType
TABLE_DELETE: ActionType
TABLE_DROP: ActionType
VIEW_EXISTS: ActionType
VIEW_DESCRIBE: ActionType
VIEW_CREATE: ActionType
VIEW_REPLACE: ActionType
VIEW_DROP: ActionType
INSERT_OVERWRITE: ActionType
TRUNCATE: ActionType
MINOR_COMPACT: ActionType
MAJOR_COMPACT: ActionType
CLUSTER: ActionType
LAKEHOUSE_ALTER: ActionType
ROLLBACK: ActionType
EXPORT: ActionType

class LakehouseDef(_message.Message):
    __slots__ = ("major_version", "order", "namespace_name_max_size_bytes", "table_name_max_size_bytes", "file_path_max_size_bytes", "node_file_max_size_bytes", "properties", "maximum_version_age_millis", "minimum_versions_to_keep", "maximum_version_age_millis_overrides", "exported_snapshots", "view_name_max_size_bytes", "txn_isolation_level", "txn_ttl_millis")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class MaximumVersionAgeMillisOverridesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: int
        def __init__(self, key: _Optional[int] = ..., value: _Optional[int] = ...) -> None: ...
    class ExportedSnapshotsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    MAJOR_VERSION_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_NAME_MAX_SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    TABLE_NAME_MAX_SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    FILE_PATH_MAX_SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    NODE_FILE_MAX_SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_VERSION_AGE_MILLIS_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_VERSIONS_TO_KEEP_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_VERSION_AGE_MILLIS_OVERRIDES_FIELD_NUMBER: _ClassVar[int]
    EXPORTED_SNAPSHOTS_FIELD_NUMBER: _ClassVar[int]
    VIEW_NAME_MAX_SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    TXN_ISOLATION_LEVEL_FIELD_NUMBER: _ClassVar[int]
    TXN_TTL_MILLIS_FIELD_NUMBER: _ClassVar[int]
    major_version: int
    order: int
    namespace_name_max_size_bytes: int
    table_name_max_size_bytes: int
    file_path_max_size_bytes: int
    node_file_max_size_bytes: int
    properties: _containers.ScalarMap[str, str]
    maximum_version_age_millis: int
    minimum_versions_to_keep: int
    maximum_version_age_millis_overrides: _containers.ScalarMap[int, int]
    exported_snapshots: _containers.ScalarMap[str, str]
    view_name_max_size_bytes: int
    txn_isolation_level: IsolationLevel
    txn_ttl_millis: int
    def __init__(self, major_version: _Optional[int] = ..., order: _Optional[int] = ..., namespace_name_max_size_bytes: _Optional[int] = ..., table_name_max_size_bytes: _Optional[int] = ..., file_path_max_size_bytes: _Optional[int] = ..., node_file_max_size_bytes: _Optional[int] = ..., properties: _Optional[_Mapping[str, str]] = ..., maximum_version_age_millis: _Optional[int] = ..., minimum_versions_to_keep: _Optional[int] = ..., maximum_version_age_millis_overrides: _Optional[_Mapping[int, int]] = ..., exported_snapshots: _Optional[_Mapping[str, str]] = ..., view_name_max_size_bytes: _Optional[int] = ..., txn_isolation_level: _Optional[_Union[IsolationLevel, str]] = ..., txn_ttl_millis: _Optional[int] = ...) -> None: ...

class NamespaceDef(_message.Message):
    __slots__ = ("properties",)
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    properties: _containers.ScalarMap[str, str]
    def __init__(self, properties: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Column(_message.Message):
    __slots__ = ("id", "name", "type", "nullable", "properties", "struct_fields", "map_key", "map_value", "list_element")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    NULLABLE_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    STRUCT_FIELDS_FIELD_NUMBER: _ClassVar[int]
    MAP_KEY_FIELD_NUMBER: _ClassVar[int]
    MAP_VALUE_FIELD_NUMBER: _ClassVar[int]
    LIST_ELEMENT_FIELD_NUMBER: _ClassVar[int]
    id: int
    name: str
    type: DataType
    nullable: bool
    properties: _containers.ScalarMap[str, str]
    struct_fields: _containers.RepeatedCompositeFieldContainer[Column]
    map_key: Column
    map_value: Column
    list_element: Column
    def __init__(self, id: _Optional[int] = ..., name: _Optional[str] = ..., type: _Optional[_Union[DataType, str]] = ..., nullable: _Optional[bool] = ..., properties: _Optional[_Mapping[str, str]] = ..., struct_fields: _Optional[_Iterable[_Union[Column, _Mapping]]] = ..., map_key: _Optional[_Union[Column, _Mapping]] = ..., map_value: _Optional[_Union[Column, _Mapping]] = ..., list_element: _Optional[_Union[Column, _Mapping]] = ...) -> None: ...

class Schema(_message.Message):
    __slots__ = ("columns",)
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedCompositeFieldContainer[Column]
    def __init__(self, columns: _Optional[_Iterable[_Union[Column, _Mapping]]] = ...) -> None: ...

class TableDef(_message.Message):
    __slots__ = ("schema", "distribution_keys", "primary_keys", "sort_keys", "unique_columns", "table_type", "table_format", "format_properties", "properties")
    class FormatPropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    DISTRIBUTION_KEYS_FIELD_NUMBER: _ClassVar[int]
    PRIMARY_KEYS_FIELD_NUMBER: _ClassVar[int]
    SORT_KEYS_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    TABLE_TYPE_FIELD_NUMBER: _ClassVar[int]
    TABLE_FORMAT_FIELD_NUMBER: _ClassVar[int]
    FORMAT_PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    schema: Schema
    distribution_keys: _containers.RepeatedScalarFieldContainer[int]
    primary_keys: _containers.RepeatedScalarFieldContainer[int]
    sort_keys: _containers.RepeatedScalarFieldContainer[int]
    unique_columns: _containers.RepeatedScalarFieldContainer[int]
    table_type: str
    table_format: str
    format_properties: _containers.ScalarMap[str, str]
    properties: _containers.ScalarMap[str, str]
    def __init__(self, schema: _Optional[_Union[Schema, _Mapping]] = ..., distribution_keys: _Optional[_Iterable[int]] = ..., primary_keys: _Optional[_Iterable[int]] = ..., sort_keys: _Optional[_Iterable[int]] = ..., unique_columns: _Optional[_Iterable[int]] = ..., table_type: _Optional[str] = ..., table_format: _Optional[str] = ..., format_properties: _Optional[_Mapping[str, str]] = ..., properties: _Optional[_Mapping[str, str]] = ...) -> None: ...

class NamespaceObjectFullName(_message.Message):
    __slots__ = ("namespace_name", "name")
    NAMESPACE_NAME_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace_name: str
    name: str
    def __init__(self, namespace_name: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class ViewDef(_message.Message):
    __slots__ = ("id", "view_format", "schema_binding", "schema", "default_namespace_name", "referenced_object_full_names", "properties", "substrait_read_rel", "sql", "dialect")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    VIEW_FORMAT_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_BINDING_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_NAMESPACE_NAME_FIELD_NUMBER: _ClassVar[int]
    REFERENCED_OBJECT_FULL_NAMES_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    SUBSTRAIT_READ_REL_FIELD_NUMBER: _ClassVar[int]
    SQL_FIELD_NUMBER: _ClassVar[int]
    DIALECT_FIELD_NUMBER: _ClassVar[int]
    id: str
    view_format: ViewFormat
    schema_binding: bool
    schema: Schema
    default_namespace_name: str
    referenced_object_full_names: _containers.RepeatedCompositeFieldContainer[NamespaceObjectFullName]
    properties: _containers.ScalarMap[str, str]
    substrait_read_rel: bytes
    sql: str
    dialect: str
    def __init__(self, id: _Optional[str] = ..., view_format: _Optional[_Union[ViewFormat, str]] = ..., schema_binding: _Optional[bool] = ..., schema: _Optional[_Union[Schema, _Mapping]] = ..., default_namespace_name: _Optional[str] = ..., referenced_object_full_names: _Optional[_Iterable[_Union[NamespaceObjectFullName, _Mapping]]] = ..., properties: _Optional[_Mapping[str, str]] = ..., substrait_read_rel: _Optional[bytes] = ..., sql: _Optional[str] = ..., dialect: _Optional[str] = ...) -> None: ...

class DistributedTransactionDef(_message.Message):
    __slots__ = ("id", "isolation_level", "beginning_root_node_file_path", "running_root_node_file_path", "began_at_millis", "expire_at_millis", "state", "committed_version", "properties")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_LEVEL_FIELD_NUMBER: _ClassVar[int]
    BEGINNING_ROOT_NODE_FILE_PATH_FIELD_NUMBER: _ClassVar[int]
    RUNNING_ROOT_NODE_FILE_PATH_FIELD_NUMBER: _ClassVar[int]
    BEGAN_AT_MILLIS_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_AT_MILLIS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    id: str
    isolation_level: IsolationLevel
    beginning_root_node_file_path: str
    running_root_node_file_path: str
    began_at_millis: int
    expire_at_millis: int
    state: TransactionState
    committed_version: int
    properties: _containers.ScalarMap[str, str]
    def __init__(self, id: _Optional[str] = ..., isolation_level: _Optional[_Union[IsolationLevel, str]] = ..., beginning_root_node_file_path: _Optional[str] = ..., running_root_node_file_path: _Optional[str] = ..., began_at_millis: _Optional[int] = ..., expire_at_millis: _Optional[int] = ..., state: _Optional[_Union[TransactionState, str]] = ..., committed_version: _Optional[int] = ..., properties: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ConstraintDef(_message.Message):
    __slots__ = ("type", "start_key", "end_key", "reason")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    START_KEY_FIELD_NUMBER: _ClassVar[int]
    END_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    type: ConstraintType
    start_key: bytes
    end_key: bytes
    reason: str
    def __init__(self, type: _Optional[_Union[ConstraintType, str]] = ..., start_key: _Optional[bytes] = ..., end_key: _Optional[bytes] = ..., reason: _Optional[str] = ...) -> None: ...

class ActionObjectDef(_message.Message):
    __slots__ = ("type", "namespaceName", "namespaceObjectName")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    DEF_FIELD_NUMBER: _ClassVar[int]
    NAMESPACENAME_FIELD_NUMBER: _ClassVar[int]
    NAMESPACEOBJECTNAME_FIELD_NUMBER: _ClassVar[int]
    type: ActionObjectType
    namespaceName: str
    namespaceObjectName: str
    def __init__(self, type: _Optional[_Union[ActionObjectType, str]] = ..., namespaceName: _Optional[str] = ..., namespaceObjectName: _Optional[str] = ..., **kwargs) -> None: ...

class ActionDef(_message.Message):
    __slots__ = ("object_def", "type", "start_key", "end_key", "read")
    OBJECT_DEF_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    DEF_FIELD_NUMBER: _ClassVar[int]
    START_KEY_FIELD_NUMBER: _ClassVar[int]
    END_KEY_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    object_def: ActionObjectDef
    type: ActionType
    start_key: bytes
    end_key: bytes
    read: bool
    def __init__(self, object_def: _Optional[_Union[ActionObjectDef, _Mapping]] = ..., type: _Optional[_Union[ActionType, str]] = ..., start_key: _Optional[bytes] = ..., end_key: _Optional[bytes] = ..., read: _Optional[bool] = ..., **kwargs) -> None: ...

class DataChange(_message.Message):
    __slots__ = ("added_files", "removed_files", "row_filter", "selected", "log_entry", "truncated", "metadata_changed", "protocol_changed", "partitions", "operation", "rewrites_only", "blind_append", "transaction_app_ids", "domains")
    ADDED_FILES_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FILES_FIELD_NUMBER: _ClassVar[int]
    ROW_FILTER_FIELD_NUMBER: _ClassVar[int]
    SELECTED_FIELD_NUMBER: _ClassVar[int]
    LOG_ENTRY_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    METADATA_CHANGED_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_CHANGED_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    REWRITES_ONLY_FIELD_NUMBER: _ClassVar[int]
    BLIND_APPEND_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_APP_IDS_FIELD_NUMBER: _ClassVar[int]
    DOMAINS_FIELD_NUMBER: _ClassVar[int]
    added_files: _containers.RepeatedScalarFieldContainer[str]
    removed_files: _containers.RepeatedScalarFieldContainer[str]
    row_filter: str
    selected: _containers.RepeatedCompositeFieldContainer[NamespaceObjectFullName]
    log_entry: str
    truncated: bool
    metadata_changed: bool
    protocol_changed: bool
    partitions: _containers.RepeatedScalarFieldContainer[str]
    operation: str
    rewrites_only: bool
    blind_append: bool
    transaction_app_ids: _containers.RepeatedScalarFieldContainer[str]
    domains: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, added_files: _Optional[_Iterable[str]] = ..., removed_files: _Optional[_Iterable[str]] = ..., row_filter: _Optional[str] = ..., selected: _Optional[_Iterable[_Union[NamespaceObjectFullName, _Mapping]]] = ..., log_entry: _Optional[str] = ..., truncated: _Optional[bool] = ..., metadata_changed: _Optional[bool] = ..., protocol_changed: _Optional[bool] = ..., partitions: _Optional[_Iterable[str]] = ..., operation: _Optional[str] = ..., rewrites_only: _Optional[bool] = ..., blind_append: _Optional[bool] = ..., transaction_app_ids: _Optional[_Iterable[str]] = ..., domains: _Optional[_Iterable[str]] = ...) -> None: ...
