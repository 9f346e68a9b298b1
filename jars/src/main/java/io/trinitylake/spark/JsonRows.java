package io.trinitylake.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Rows that the engine sent, as Spark holds them: {@code columns} with types, then {@code rows}.
 */
final class JsonRows {
  private JsonRows() {}

  /** The schema that a list of {@code [name, type as in DDL]} says. */
  static StructType schema(JsonNode columns) {
    StructType schema = new StructType();
    for (JsonNode column : columns) {
      schema = schema.add(column.get(0).asText(), DataType.fromDDL(column.get(1).asText()), true);
    }
    return schema;
  }

  /** The rows, each a list of values in the order of the columns. */
  static InternalRow[] rows(StructType schema, JsonNode rows) {
    List<InternalRow> result = new ArrayList<>();
    rows.forEach(row -> result.add(row(schema, row)));
    return result.toArray(InternalRow[]::new);
  }

  private static InternalRow row(StructType schema, JsonNode row) {
    StructField[] fields = schema.fields();
    Object[] values = new Object[fields.length];
    for (int i = 0; i < fields.length; i++) {
      JsonNode value = row.isObject() ? row.get(fields[i].name()) : row.get(i);
      values[i] = value(fields[i].dataType(), value);
    }
    return new GenericInternalRow(values);
  }

  private static Object value(DataType type, JsonNode value) {
    if (value == null || value.isNull()) {
      return null;
    }
    if (type instanceof LongType) {
      return value.asLong();
    } else if (type instanceof IntegerType) {
      return value.asInt();
    } else if (type instanceof DoubleType) {
      return value.asDouble();
    } else if (type instanceof BooleanType) {
      return value.asBoolean();
    } else if (type instanceof TimestampType) {
      return value.isNumber() ? value.asLong() : micros(Instant.parse(value.asText()));
    } else if (type instanceof StructType struct) {
      return row(struct, value);
    } else if (type instanceof ArrayType array) {
      List<Object> items = new ArrayList<>();
      value.forEach(item -> items.add(value(array.elementType(), item)));
      return new GenericArrayData(items.toArray());
    } else if (type instanceof MapType map) {
      List<Object> keys = new ArrayList<>();
      List<Object> values = new ArrayList<>();
      value
          .fields()
          .forEachRemaining(
              entry -> {
                keys.add(UTF8String.fromString(entry.getKey()));
                values.add(value(map.valueType(), entry.getValue()));
              });
      return new ArrayBasedMapData(
          new GenericArrayData(keys.toArray()), new GenericArrayData(values.toArray()));
    }
    return UTF8String.fromString(value.isValueNode() ? value.asText() : value.toString());
  }

  private static long micros(Instant instant) {
    return TimeUnit.SECONDS.toMicros(instant.getEpochSecond()) + instant.getNano() / 1_000;
  }
}
