package io.trinitylake.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.delta.storage.CloseableIterator;
import io.delta.storage.LogStore;
import java.io.BufferedReader;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;

/**
 * Where Delta reads and writes its log: listings and commits are the engine's.
 *
 * <p>Commits are handed to the engine as text, which decides whether they commit and writes them.
 * Checksums go to the place that the engine names; all else is a file like any other.
 */
public final class TrinityLakeLogStore extends LogStore {
  /** A longer argument costs a fixed 40 ms in py4j, so it goes through a file instead. */
  private static final int INLINE_CHARACTERS = 7_000;

  private static final String LAST_CHECKPOINT = "_last_checkpoint";

  /** Called by Delta. */
  public TrinityLakeLogStore(Configuration conf) {
    super(conf);
  }

  @Override
  public CloseableIterator<String> read(Path path, Configuration conf) throws IOException {
    return new LineIterator(
        new BufferedReader(new InputStreamReader(open(path, conf), StandardCharsets.UTF_8)));
  }

  /**
   * Opens a file of a log. A commit that was rebased has no checksum yet: the engine derives it,
   * which saves Delta the reconstruction of the whole state.
   */
  private static FSDataInputStream open(Path path, Configuration conf) throws IOException {
    FileSystem files = path.getFileSystem(conf);
    try {
      return files.open(path);
    } catch (FileNotFoundException missing) {
      ObjectNode arguments = Json.object().put("path", path.toString());
      if (path.getName().endsWith(".crc")
          && LogListing.ask("log_checksum", arguments, path).get("derived").asBoolean()) {
        return files.open(path);
      }
      throw missing;
    }
  }

  @Override
  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration conf)
      throws IOException {
    StringBuilder content = new StringBuilder();
    actions.forEachRemaining(line -> content.append(line).append('\n'));
    if (ViewPath.of(path).isCommit() || path.getName().equals(LAST_CHECKPOINT)) {
      writeToLog(path, content.toString(), overwrite);
      return;
    }
    FileSystem files = path.getFileSystem(conf);
    try (OutputStream stream = files.create(path, overwrite)) {
      stream.write(content.toString().getBytes(StandardCharsets.UTF_8));
    }
  }

  @Override
  public Iterator<FileStatus> listFrom(Path path, Configuration conf) throws IOException {
    if (!ViewPath.of(path.getParent()).isLog()) {
      // Delta looks among staged commits for some to delete: there are none.
      return Collections.emptyIterator();
    }
    List<FileStatus> files = LogListing.list(path.getParent(), ViewPath.of(path).number());
    files.removeIf(file -> file.getPath().getName().compareTo(path.getName()) < 0);
    return files.iterator();
  }

  @Override
  public Path resolvePathOnPhysicalStorage(Path path, Configuration conf) {
    return path;
  }

  @Override
  public Boolean isPartialWriteVisible(Path path, Configuration conf) {
    // Checkpoints are found through the engine, which learns of them when they are complete.
    return false;
  }

  private static void writeToLog(Path path, String content, boolean overwrite) throws IOException {
    ObjectNode arguments = Json.object().put("path", path.toString()).put("overwrite", overwrite);
    String execution = StagedEntries.execution();
    arguments.put("execution", execution);
    Statement statement = StatementScope.current(SparkSession.active().sparkContext());
    arguments.put("truncates", statement.is(Statement.Trait.TRUNCATE));
    JsonNode answer;
    if (content.length() > INLINE_CHARACTERS) {
      java.nio.file.Path file = Files.createTempFile("trinitylake-", ".json");
      try {
        Files.writeString(file, content);
        answer = LogListing.ask("log_write", arguments.put("file", file.toString()), path);
      } finally {
        Files.deleteIfExists(file);
      }
    } else {
      answer = LogListing.ask("log_write", arguments.put("content", content), path);
    }
    TransactionMark.noteChange();
    RepeatedOptimize.noteLeftOut(answer.path("left_out").asInt());
    boolean isCommitted = answer.hasNonNull("lake_version");
    if (execution != null && !isCommitted && ViewPath.of(path).isCommit()) {
      StagedEntries.note(execution, path);
    }
  }
}
