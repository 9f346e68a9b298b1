package io.trinitylake.spark;

import io.delta.storage.CloseableIterator;
import io.delta.storage.LogStore;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/**
 * The log for Delta's Kernel, which reads it on the driver.
 *
 * <p>On ordinary tables Kernel passes over staged commits without a word and shows an old version,
 * and it looks for a checkpoint only beside the commits. So it is given both under their canonical
 * names, in order.
 */
public final class KernelLogStore extends LogStore {
  private final TrinityLakeLogStore log;

  /** Called by Delta. */
  public KernelLogStore(Configuration conf) {
    super(conf);
    log = new TrinityLakeLogStore(conf);
  }

  @Override
  public CloseableIterator<String> read(Path path, Configuration conf) throws IOException {
    return log.read(path, conf);
  }

  @Override
  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration conf)
      throws IOException {
    log.write(path, actions, overwrite, conf);
  }

  @Override
  public Iterator<FileStatus> listFrom(Path path, Configuration conf) throws IOException {
    List<FileStatus> files = new ArrayList<>();
    log.listFrom(path, conf).forEachRemaining(file -> files.add(canonical(file, path.getParent())));
    files.sort(Comparator.comparing(file -> file.getPath().getName()));
    return files.iterator();
  }

  @Override
  public Path resolvePathOnPhysicalStorage(Path path, Configuration conf) {
    return path;
  }

  @Override
  public Boolean isPartialWriteVisible(Path path, Configuration conf) {
    return log.isPartialWriteVisible(path, conf);
  }

  private static FileStatus canonical(FileStatus file, Path log) {
    Path path = file.getPath();
    if (path.getParent().equals(log)) {
      return file;
    }
    return new FileStatus(
        file.getLen(),
        false,
        file.getReplication(),
        file.getBlockSize(),
        file.getModificationTime(),
        new Path(log, LogListing.canonicalName(path)));
  }
}
