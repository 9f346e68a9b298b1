package io.trinitylake.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What users set, and what they need not set because it is set here. */
final class Settings {
  private static final String STORAGE = "storage.";
  private static final String KERNEL_READS = "trinitylake.kernel-reads";

  private Settings() {}

  /** Makes Delta, its Kernel and Hadoop find our classes for {@code trinity://}. */
  static void install(SparkSession spark) {
    SparkConf conf = spark.sparkContext().conf();
    conf.set("spark.delta.logStore.trinity.impl", TrinityLakeLogStore.class.getName());
    Configuration hadoop = spark.sparkContext().hadoopConfiguration();
    hadoop.set("io.delta.kernel.logStore.trinity.impl", KernelLogStore.class.getName());
    hadoop.set("fs.trinity.impl", TrinityLakeFileSystem.class.getName());
    hadoop.set("fs.AbstractFileSystem.trinity.impl", TrinityLakeFs.class.getName());
    // Hadoop would keep one file system for each view, and each statement has views of its own.
    hadoop.setBoolean("fs.trinity.impl.disable.cache", true);
  }

  /** The arguments of {@code catalog_open} for a catalog's options. */
  static ObjectNode openArguments(
      SparkSession spark, String session, String catalog, CaseInsensitiveStringMap options) {
    ObjectNode arguments = Json.object().put("session", session).put("catalog", catalog);
    arguments.put("root", options.get("root"));
    arguments.put("warehouse", options.get("warehouse"));
    arguments.put("isolation", options.get("isolation-level"));
    arguments.put("fail_fast", options.getBoolean("fail-fast", false));
    arguments.put("create", options.getBoolean("create", false));
    arguments.put("author", options.getOrDefault("author", spark.sparkContext().sparkUser()));
    ObjectNode storage = arguments.putObject("storage");
    for (Map.Entry<String, String> option : options.asCaseSensitiveMap().entrySet()) {
      if (option.getKey().toLowerCase(Locale.ROOT).startsWith(STORAGE)) {
        storage.put(option.getKey().substring(STORAGE.length()), option.getValue());
      }
    }
    return arguments;
  }

  /**
   * The Python that runs the engine.
   *
   * <p>The driver's Python is not asked for: it may be a notebook's front end.
   */
  static String python(SparkSession spark) {
    return get(spark, "spark.trinitylake.engine.python")
        .or(() -> get(spark, "trinitylake.engine.python"))
        .or(() -> get(spark, "spark.pyspark.python"))
        .or(() -> Optional.ofNullable(System.getenv("PYSPARK_PYTHON")))
        .filter(value -> !value.isBlank())
        .orElse("python3");
  }

  /** Whether queries read through Delta's Kernel. */
  static boolean kernelReads(SparkSession spark) {
    return get(spark, KERNEL_READS).map(Boolean::parseBoolean).orElse(true);
  }

  private static Optional<String> get(SparkSession spark, String key) {
    return Optional.ofNullable(spark.sessionState().conf().getConfString(key, null))
        .or(() -> Optional.ofNullable(spark.sparkContext().conf().get(key, null)));
  }
}
