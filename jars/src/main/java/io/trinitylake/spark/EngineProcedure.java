package io.trinitylake.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.SimpleProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** A procedure of the engine, which says its parameters itself. */
final class EngineProcedure implements SimpleProcedure {
  private final EngineHandle engine;
  private final String name;
  private final ProcedureParameter[] parameters;
  private final Runnable guard;

  /**
   * Takes a procedure from the engine's list.
   *
   * @param description its {@code name} and {@code parameters}
   * @param guard fails where the procedure must not be called
   */
  EngineProcedure(EngineHandle engine, JsonNode description, Runnable guard) {
    this.engine = engine;
    this.guard = guard;
    this.name = description.get("name").asText();
    List<ProcedureParameter> found = new ArrayList<>();
    for (JsonNode parameter : description.get("parameters")) {
      ProcedureParameter.Builder builder =
          ProcedureParameter.in(
              parameter.get("name").asText(), DataType.fromDDL(parameter.get("type").asText()));
      found.add(
          parameter.path("required").asBoolean()
              ? builder.build()
              : builder.defaultValue("NULL").build());
    }
    parameters = found.toArray(ProcedureParameter[]::new);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String description() {
    return name + " of TrinityLake";
  }

  @Override
  public BoundProcedure bind(StructType inputType) {
    return this;
  }

  @Override
  public ProcedureParameter[] parameters() {
    return parameters.clone();
  }

  @Override
  public boolean isDeterministic() {
    return false;
  }

  @Override
  public Iterator<Scan> call(InternalRow input) {
    guard.run();
    ObjectNode values = Json.object();
    for (int i = 0; i < parameters.length; i++) {
      Object value = input.get(i, parameters[i].dataType());
      if (value != null) {
        values.set(
            parameters[i].name(), Json.of(value instanceof UTF8String ? value.toString() : value));
      }
    }
    return List.<Scan>of(new EngineRows(engine.procedure(name, values))).iterator();
  }
}
