package io.trinitylake.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** Rows of the engine as Spark holds them. */
final class JsonRowsTest {
  /** The types that the engine names in DDL are Spark's, and every column may be null. */
  @Test
  void readsTheSchema() {
    StructType expected =
        new StructType()
            .add("version", DataTypes.LongType)
            .add("tags", DataTypes.createMapType(DataTypes.StringType, DataTypes.LongType));
    assertEquals(
        expected, schema("[[\"version\", \"BIGINT\"], [\"tags\", \"MAP<STRING, BIGINT>\"]]"));
  }

  /** Each type's value arrives as Spark's representation of it. */
  @Test
  void convertsEachType() {
    InternalRow row =
        only(
            "[[\"l\", \"BIGINT\"], [\"i\", \"INT\"], [\"d\", \"DOUBLE\"], [\"b\", \"BOOLEAN\"],"
                + " [\"s\", \"STRING\"], [\"t\", \"TIMESTAMP\"], [\"u\", \"TIMESTAMP\"]]",
            "[[9007199254740993, -1, 0.5, true, \"\u00e9\", \"1970-01-01T00:00:01.000002Z\", 7]]");
    assertEquals(9007199254740993L, row.getLong(0));
    assertEquals(-1, row.getInt(1));
    assertEquals(0.5, row.getDouble(2));
    assertTrue(row.getBoolean(3));
    assertEquals("\u00e9", row.getUTF8String(4).toString());
    assertEquals(1_000_002L, row.getLong(5));
    assertEquals(7L, row.getLong(6));
  }

  /** Times before 1970 keep their microseconds. */
  @Test
  void convertsEarlyTimes() {
    InternalRow row = only("[[\"t\", \"TIMESTAMP\"]]", "[[\"1969-12-31T23:59:59.999999Z\"]]");
    assertEquals(-1L, row.getLong(0));
  }

  /** Arrays, maps and structs are converted inside; a struct may be an object or a list. */
  @Test
  void convertsNestedValues() {
    InternalRow row =
        only(
            "[[\"a\", \"ARRAY<STRUCT<x: INT, y: STRING>>\"], [\"m\", \"MAP<STRING, BIGINT>\"]]",
            "[[[{\"y\": \"p\", \"x\": 1}, [2, null]], {\"k\": 3}]]");
    InternalRow first = row.getArray(0).getStruct(0, 2);
    InternalRow second = row.getArray(0).getStruct(1, 2);
    assertEquals(1, first.getInt(0));
    assertEquals("p", first.getUTF8String(1).toString());
    assertEquals(2, second.getInt(0));
    assertTrue(second.isNullAt(1));
    assertEquals(UTF8String.fromString("k"), row.getMap(1).keyArray().getUTF8String(0));
    assertEquals(3L, row.getMap(1).valueArray().getLong(0));
  }

  /** Null and what a row lacks at its end are null; JSON in a text column stays JSON. */
  @Test
  void keepsNullsAndJson() {
    InternalRow row =
        only(
            "[[\"a\", \"STRING\"], [\"b\", \"STRING\"], [\"c\", \"BIGINT\"]]",
            "[[{\"x\": [1]}, null]]");
    assertEquals("{\"x\":[1]}", row.getUTF8String(0).toString());
    assertTrue(row.isNullAt(1));
    assertTrue(row.isNullAt(2));
  }

  private static StructType schema(String columns) {
    return JsonRows.schema(Json.parse(columns));
  }

  private static InternalRow only(String columns, String rows) {
    InternalRow[] result = JsonRows.rows(schema(columns), Json.parse(rows));
    assertEquals(1, result.length, Arrays.toString(result));
    return result[0];
  }
}
