package io.trinitylake.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/** The log of a table as a view shows it: the engine says it, no directory is listed. */
final class LogListing {
  private static final int REMEMBERED_LOGS = 256;
  private static final long BLOCK_BYTES = 128L << 20;
  private static final Pattern STAGED = Pattern.compile("(\\d{20})\\.[^.]+\\.json");

  /**
   * Commits of immutable views under their canonical names, so that reading them asks nothing: log
   * directory, then canonical name, then the name that was listed.
   */
  private static final Map<String, Map<String, Path>> KNOWN =
      Collections.synchronizedMap(
          new LinkedHashMap<>(16, 0.75f, true) {
            @Override
            protected boolean removeEldestEntry(Map.Entry<String, Map<String, Path>> eldest) {
              return size() > REMEMBERED_LOGS;
            }
          });

  private LogListing() {}

  /**
   * The files of a log, in the order of their names.
   *
   * @param log the log directory
   * @param from the first version wanted
   * @throws FileNotFoundException if the view has no such log
   */
  static List<FileStatus> list(Path log, long from) throws IOException {
    JsonNode answer =
        ask(
            "log_list",
            Json.object().put("path", ViewPath.of(log).table().toString()).put("from", from),
            log);
    List<FileStatus> files = new ArrayList<>();
    Map<String, Path> canonical = new LinkedHashMap<>();
    for (JsonNode file : answer.get("files")) {
      Path path = new Path(log, file.get(0).asText());
      files.add(
          new FileStatus(file.get(1).asLong(), false, 1, BLOCK_BYTES, file.get(2).asLong(), path));
      canonical.put(canonicalName(path), path);
    }
    if (ViewPath.of(log).isImmutable()) {
      KNOWN.merge(
          log.toString(),
          canonical,
          (old, added) -> {
            Map<String, Path> both = new LinkedHashMap<>(old);
            both.putAll(added);
            return both;
          });
    }
    files.sort(Comparator.comparing(file -> file.getPath().getName()));
    return files;
  }

  /**
   * A commit as it is listed.
   *
   * @param path its canonical name
   * @throws FileNotFoundException if the view has no such commit
   */
  static FileStatus find(Path path) throws IOException {
    for (FileStatus file : list(path.getParent(), ViewPath.of(path).number())) {
      if (canonicalName(file.getPath()).equals(path.getName())) {
        return file;
      }
    }
    throw new FileNotFoundException(path.toString());
  }

  /** The name that a listed file has in the log directory itself. */
  static String canonicalName(Path path) {
    Matcher staged = STAGED.matcher(path.getName());
    return staged.matches() ? staged.group(1) + ".json" : path.getName();
  }

  /**
   * The name under which an immutable view listed a file, as far as this driver has listed it.
   *
   * @param path the file under its canonical name
   * @return the listed path, or {@code path} itself
   */
  static Path listed(Path path) {
    Path parent = path.getParent();
    return parent == null
        ? path
        : KNOWN.getOrDefault(parent.toString(), Map.of()).getOrDefault(path.getName(), path);
  }

  /**
   * The real path of a name that needs the engine.
   *
   * @param write whether the file is about to be written
   * @return the path, or null if there is no such file
   */
  static Path resolve(Path path, boolean write) throws IOException {
    JsonNode answer =
        ask("log_resolve", Json.object().put("path", path.toString()).put("write", write), path);
    String physical = Json.text(answer, "physical");
    return physical == null ? null : new Path(physical);
  }

  /** Forgets everything, for the engine that knew these views is gone. */
  static void forgetAll() {
    KNOWN.clear();
  }

  /** Asks the engine about a file and throws what Hadoop or Delta expects. */
  static JsonNode ask(String method, ObjectNode arguments, Path path) throws IOException {
    JsonNode answer = EngineProcess.started().call(method, arguments);
    JsonNode error = answer.get("error");
    if (error != null) {
      throw Sneaky.<IOException>raise(EngineErrors.ofFile(error, path.toString()));
    }
    return answer.get("ok");
  }
}
