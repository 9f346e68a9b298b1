package io.trinitylake.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the name of a virtual path says. */
final class ViewPathTest {
  private static final String TABLE = "trinity://w7/s3/bucket/lake/data/t1";
  private static final String LOG = TABLE + "/_delta_log";
  private static final String FOUR = "00000000000000000004";

  /** Scheme and authority of the real file come back, and {@code -} stands for no authority. */
  @ParameterizedTest
  @CsvSource({
    "trinity://r1/s3/bucket/a/b.parquet, s3://bucket/a/b.parquet",
    "trinity://r1/file/-/a/b.parquet, file:/a/b.parquet",
    "trinity://r1/hdfs/name:8020/a, hdfs://name:8020/a",
    "trinity://r1/s3/bucket, s3://bucket/",
  })
  void findsTheRealFile(String virtual, String real) {
    assertEquals(new Path(real), path(virtual).physical());
    assertEquals(new Path(real), ViewPath.physical(new Path(virtual)));
  }

  /** A path without an authority's place is refused with the path in the message. */
  @Test
  void refusesAForeignPath() {
    ViewPath foreign = path("trinity://r1/s3");
    Exception error = assertThrows(IllegalArgumentException.class, foreign::physical);
    assertEquals("Not a path of a TrinityLake table: trinity://r1/s3", error.getMessage());
  }

  /** A checkpoint is each view's own, and a renumbered commit is found as it was written. */
  @ParameterizedTest
  @CsvSource({
    "/_delta_log/00000000000000000004.checkpoint.parquet,"
        + " /_delta_log/_checkpoints/w7/00000000000000000004.checkpoint.parquet",
    "/_delta_log/_staged_commits/00000000000000000007.0ab-C9_4.json,"
        + " /_delta_log/_staged_commits/00000000000000000004.0ab-C9.json",
    "/_delta_log/_staged_commits/00000000000000000004.0ab-C9.json,"
        + " /_delta_log/_staged_commits/00000000000000000004.0ab-C9.json",
    "/_delta_log/00000000000000000004.json, /_delta_log/00000000000000000004.json",
    "/00000000000000000004.checkpoint.parquet, /00000000000000000004.checkpoint.parquet",
  })
  void movesByItsName(String virtual, String real) {
    assertEquals(new Path("s3://bucket/lake/data/t1" + real), path(TABLE + virtual).physical());
  }

  /** Only views of one version, whose names begin with r, never change. */
  @Test
  void knowsImmutableViews() {
    assertEquals(true, path("trinity://r1/s3/b/t").isImmutable());
    assertEquals(false, path("trinity://w1/s3/b/t").isImmutable());
    assertEquals("w1", path("trinity://w1/s3/b/t").view());
    assertEquals(false, path("trinity:/s3/b/t").isImmutable());
  }

  /** Commits, checksums and the pointer to checkpoints are the engine's to find. */
  @ParameterizedTest
  @CsvSource({
    "/_delta_log/00000000000000000004.json, true, true, 4",
    "/_delta_log/00000000000000000004.crc, true, false, 4",
    "/_delta_log/_last_checkpoint, true, false, 0",
    "/_delta_log/00000000000000000000.json, false, true, 0",
    "/_delta_log/00000000000000000004.checkpoint.parquet, false, false, 4",
    "/_delta_log/_staged_commits/00000000000000000004.abc.json, false, false, 4",
    "/part/00000000000000000004.json, false, false, 4",
    "/_delta_log/0000000000000000000x.json, false, false, 0",
  })
  void asksTheEngineForCommits(String name, boolean engine, boolean commit, long number) {
    ViewPath file = path(TABLE + name);
    assertEquals(engine, file.needsEngine());
    assertEquals(commit, file.isCommit());
    assertEquals(number, file.number());
  }

  /** The table is found from its log and from a file in it. */
  @Test
  void findsTheTable() {
    assertEquals(new Path(TABLE), path(LOG).table());
    assertEquals(new Path(TABLE), path(LOG + "/" + FOUR + ".json").table());
    assertEquals(true, path(LOG).isLog());
    assertEquals(false, path(TABLE).isLog());
  }

  /** All below a log directory is of the log, data files are not. */
  @ParameterizedTest
  @ValueSource(strings = {"", "/x.json", "/_sidecars/x.parquet"})
  void knowsItsLog(String below) {
    assertEquals(true, path(LOG + below).isOfLog());
    assertEquals(false, path(TABLE + below).isOfLog());
  }

  /** A file that was never finished has a name that begins with a dot. */
  @Test
  void knowsTemporaryFiles() {
    assertEquals(true, path(LOG + "/.00000000000000000004.json.tmp").isTemporary());
    assertEquals(false, path(LOG + "/00000000000000000004.json").isTemporary());
  }

  private static ViewPath path(String path) {
    return ViewPath.of(new Path(path));
  }
}
