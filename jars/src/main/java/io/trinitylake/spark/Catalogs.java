package io.trinitylake.spark;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.WeakHashMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** The catalogs of ours that each Spark session has. */
final class Catalogs {
  private static final String PREFIX = "spark.sql.catalog.";
  private static final String CACHE = "org.apache.spark.sql.execution.CacheManager";
  private static final String CACHED_RELATION =
      "org.apache.spark.sql.execution.columnar.InMemoryRelation";
  private static final StackWalker STACK = StackWalker.getInstance();
  private static final int REMEMBERED_PATHS = 1024;

  /** Names of catalogs by paths of their tables, for what Delta knows by its path alone. */
  private static final Map<String, String> PATHS =
      Collections.synchronizedMap(
          new LinkedHashMap<>(16, 0.75f, true) {
            @Override
            protected boolean removeEldestEntry(Map.Entry<String, String> eldest) {
              return size() > REMEMBERED_PATHS;
            }
          });

  /** A catalog knows its session, so it must not be held here: the session itself holds it. */
  private static final Map<SparkSession, Map<String, WeakReference<TrinityLakeCatalog>>> LOADED =
      Collections.synchronizedMap(new WeakHashMap<>());

  private Catalogs() {}

  /** Notes a catalog that Spark has loaded. */
  static void add(SparkSession spark, TrinityLakeCatalog catalog) {
    LOADED
        .computeIfAbsent(spark, key -> Collections.synchronizedMap(new LinkedHashMap<>()))
        .put(catalog.name(), new WeakReference<>(catalog));
  }

  /** The catalogs that the session has loaded. */
  static Collection<TrinityLakeCatalog> loaded(SparkSession spark) {
    Map<String, WeakReference<TrinityLakeCatalog>> found = LOADED.getOrDefault(spark, Map.of());
    synchronized (found) {
      return found.values().stream().map(WeakReference::get).filter(Objects::nonNull).toList();
    }
  }

  /** The name of the catalog with an open transaction, or null. */
  static String inTransaction(SparkSession spark) {
    return loaded(spark).stream()
        .filter(TrinityLakeCatalog::isInTransaction)
        .map(TrinityLakeCatalog::name)
        .findFirst()
        .orElse(null);
  }

  /**
   * The catalog that a transaction statement means: the one with an open transaction, else the
   * current one if it is ours, else the only one of ours.
   *
   * @throws TrinityLakeException (sneaky) if there is none or a choice
   */
  static String ofTransaction(SparkSession spark) {
    String open = inTransaction(spark);
    if (open != null) {
      return open;
    }
    List<String> ours = names(spark);
    String current = spark.sessionState().catalogManager().currentCatalog().name();
    if (ours.contains(current)) {
      return current;
    }
    if (ours.size() == 1) {
      return ours.get(0);
    }
    throw Sneaky.raise(
        TrinityLakeException.setup(
            ours.isEmpty()
                ? "No catalog of this session is a TrinityLakeCatalog: set spark.sql.catalog.<name>."
                : "Which catalog? Choose with USE: " + String.join(", ", ours) + "."));
  }

  /** The catalog that {@link #ofTransaction} names. */
  static TrinityLakeCatalog forTransaction(SparkSession spark) {
    return (TrinityLakeCatalog) spark.sessionState().catalogManager().catalog(ofTransaction(spark));
  }

  /**
   * The catalog that speaks for a session about the tables of another session's catalog.
   *
   * <p>What a session runs may have been made in another one: a global view, or the copy of a
   * session that Spark makes for itself. Transactions are those of the session that runs it.
   *
   * @param owner the catalog that a relation was loaded from
   */
  static TrinityLakeCatalog running(SparkSession spark, TrinityLakeCatalog owner) {
    if (owner.isOf(spark) || isCaching()) {
      return owner;
    }
    CatalogManager manager = spark.sessionState().catalogManager();
    return manager.isCatalogRegistered(owner.name())
            && manager.catalog(owner.name()) instanceof TrinityLakeCatalog own
            && own.root().equals(owner.root())
        ? own
        : owner;
  }

  /**
   * Whether Spark fills its cache on this thread.
   *
   * <p>It does so in a copy of the session, which has no transaction of its own.
   */
  static boolean isCaching() {
    return STACK.walk(
        frames ->
            frames.anyMatch(
                frame ->
                    frame.getClassName().startsWith(CACHED_RELATION)
                        || frame.getClassName().equals(CACHE)
                            && frame.getMethodName().contains("tryRebuildCacheEntry")));
  }

  /** Notes which catalog a table's path in a view is of. */
  static void notePath(String path, String catalog) {
    PATHS.put(path, catalog);
  }

  /** The catalog that a table's path in a view is of, or null. */
  static String ofPath(String path) {
    return PATHS.get(path);
  }

  /** Whether a name as it was written means something in a catalog of ours. */
  static boolean isOurs(SparkSession spark, Seq<String> parts) {
    CatalogManager manager = spark.sessionState().catalogManager();
    return manager.catalog(fullName(spark, parts).get(0)) instanceof TrinityLakeCatalog;
  }

  /** Catalog, namespace and name that a name as it was written stands for now. */
  static List<String> fullName(SparkSession spark, Seq<String> parts) {
    CatalogManager manager = spark.sessionState().catalogManager();
    List<String> name = new ArrayList<>(CollectionConverters.asJava(parts));
    if (name.size() == 1) {
      name.addAll(0, List.of(manager.currentNamespace()));
    }
    if (name.size() < 2 || parts.length() == 1 || !manager.isCatalogRegistered(name.get(0))) {
      name.add(0, manager.currentCatalog().name());
    }
    return name;
  }

  /** The names of all catalogs that are configured to be ours, in order. */
  private static List<String> names(SparkSession spark) {
    TreeSet<String> found = new TreeSet<>();
    CollectionConverters.asJava(spark.sessionState().conf().getAllConfs())
        .forEach(
            (key, value) -> {
              String name = key.startsWith(PREFIX) ? key.substring(PREFIX.length()) : "";
              if (!name.isEmpty()
                  && !name.contains(".")
                  && value.equals(TrinityLakeCatalog.class.getName())) {
                found.add(name);
              }
            });
    return new ArrayList<>(found);
  }
}
