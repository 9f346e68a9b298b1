package io.trinitylake.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.hadoop.fs.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The names of listed files. */
final class LogListingTest {
  private static final String LOG = "trinity://r1/s3/b/t/_delta_log/";

  /** Only a staged commit has another name in the log itself: its number. */
  @ParameterizedTest
  @CsvSource({
    "_staged_commits/00000000000000000004.0ab-c9.json, 00000000000000000004.json",
    "_staged_commits/00000000000000000007.0ab-c9_4.json, 00000000000000000007.json",
    "00000000000000000004.json, 00000000000000000004.json",
    "00000000000000000004.crc, 00000000000000000004.crc",
    "00000000000000000004.checkpoint.parquet, 00000000000000000004.checkpoint.parquet",
    "00000000000000000004.a.b.json, 00000000000000000004.a.b.json",
    "_last_checkpoint, _last_checkpoint",
  })
  void numbersStagedCommits(String listed, String canonical) {
    assertEquals(canonical, LogListing.canonicalName(new Path(LOG + listed)));
  }
}
