package io.trinitylake.spark;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;

/**
 * What the name of a path alone says: {@code trinity://<view>/<scheme>/<authority or ->/<path>}.
 *
 * <p>The view tells whose eyes look; the rest locates the file. Executors know no more than this
 * class, so they need no call to the driver. What only the engine can know (which file is commit
 * number N in this view, which files a log has) is marked as such.
 */
final class ViewPath {
  /** The scheme of all paths that Delta sees. */
  static final String SCHEME = "trinity";

  private static final String LOG = "_delta_log";
  private static final String STAGED = "_staged_commits";
  private static final String CHECKPOINTS = "_checkpoints";
  private static final Pattern PARTS = Pattern.compile("/([^/]+)/([^/]+)(/.*)?");
  private static final Pattern ENGINE_NAME =
      Pattern.compile("\\d{20}\\.(json|crc)|_last_checkpoint");
  private static final Pattern COMMIT = Pattern.compile("\\d{20}\\.json");
  private static final Pattern CHECKPOINT = Pattern.compile("\\d{20}\\.checkpoint\\..*");
  private static final Pattern RENUMBERED =
      Pattern.compile("\\d{20}\\.([0-9a-fA-F-]+)_(\\d+)\\.json");
  private static final String FIRST_COMMIT = "00000000000000000000.json";

  private final Path path;

  private ViewPath(Path path) {
    this.path = path;
  }

  /** Reads a path of our scheme. */
  static ViewPath of(Path path) {
    return new ViewPath(path);
  }

  /** The view: its first letter is its kind, see {@code docs/}. */
  String view() {
    return path.toUri().getAuthority();
  }

  /** Whether what the view shows never changes. */
  boolean isImmutable() {
    return view() != null && view().startsWith("r");
  }

  /** Whether the view is that of one writing statement. */
  boolean isOfOneStatement() {
    return view() != null && view().startsWith("w");
  }

  /** Whether this is a table's log directory. */
  boolean isLog() {
    return path.getName().equals(LOG);
  }

  /** Whether this is a file of the log that may be deleted: one that was never finished. */
  boolean isTemporary() {
    return path.getName().startsWith(".");
  }

  /** Whether this is a table's log directory or anything below it. */
  boolean isOfLog() {
    for (Path part = path; part != null; part = part.getParent()) {
      if (part.getName().equals(LOG)) {
        return true;
      }
    }
    return false;
  }

  /** Whether this is a commit under its canonical name, {@code <20 digits>.json}. */
  boolean isCommit() {
    return isInLog() && COMMIT.matcher(path.getName()).matches();
  }

  /** Whether only the engine knows which file this name means in this view. */
  boolean needsEngine() {
    return isInLog()
        && ENGINE_NAME.matcher(path.getName()).matches()
        && !path.getName().equals(FIRST_COMMIT);
  }

  /** The number of the commit, checkpoint or checksum that this file belongs to, or 0. */
  long number() {
    String name = path.getName();
    return name.length() > 20 && name.substring(0, 20).chars().allMatch(Character::isDigit)
        ? Long.parseLong(name.substring(0, 20))
        : 0;
  }

  /** The table's own path, given its log directory or a file in it. */
  Path table() {
    return isLog() ? path.getParent() : path.getParent().getParent();
  }

  /** The real path, by the rules for names alone. */
  Path physical() {
    return physical(byRule());
  }

  /** The real path of {@code virtual}, which no rule changes any more. */
  static Path physical(Path virtual) {
    Matcher parts = PARTS.matcher(virtual.toUri().getPath());
    if (!parts.matches()) {
      throw new IllegalArgumentException("Not a path of a TrinityLake table: " + virtual);
    }
    String authority = parts.group(2).equals("-") ? null : parts.group(2);
    String rest = parts.group(3) == null ? "/" : parts.group(3);
    return new Path(parts.group(1), authority, rest);
  }

  private boolean isInLog() {
    return path.getParent() != null && path.getParent().getName().equals(LOG);
  }

  private Path byRule() {
    Path parent = path.getParent();
    if (parent == null) {
      return path;
    }
    if (isInLog() && CHECKPOINT.matcher(path.getName()).matches()) {
      return new Path(new Path(new Path(parent, CHECKPOINTS), view()), path.getName());
    }
    if (parent.getName().equals(STAGED)) {
      Matcher renumbered = RENUMBERED.matcher(path.getName());
      if (renumbered.matches()) {
        long written = Long.parseLong(renumbered.group(2));
        return new Path(parent, String.format("%020d.%s.json", written, renumbered.group(1)));
      }
    }
    return path;
  }
}
