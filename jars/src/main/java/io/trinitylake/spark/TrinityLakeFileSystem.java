package io.trinitylake.spark;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FutureDataInputStreamBuilder;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * The file system of {@code trinity://}: the files are the warehouse's own, the log is a view's.
 *
 * <p>Data files, staged commits and checkpoints are found by their names alone, on executors too.
 * Only canonical names in a log ask the engine, and only the driver uses those.
 */
public final class TrinityLakeFileSystem extends FileSystem {
  private URI uri;
  private Path workingDirectory;

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    super.initialize(name, conf);
    setConf(conf);
    uri = URI.create(name.getScheme() + "://" + name.getAuthority());
    workingDirectory = new Path(uri + "/");
  }

  @Override
  public String getScheme() {
    return ViewPath.SCHEME;
  }

  @Override
  public URI getUri() {
    return uri;
  }

  @Override
  public FSDataInputStream open(Path path, int bufferBytes) throws IOException {
    Path real = existing(path);
    return of(real).open(real, bufferBytes);
  }

  @Override
  public FutureDataInputStreamBuilder openFile(Path path) throws IOException {
    Path real = existing(path);
    return of(real).openFile(real);
  }

  @Override
  public FSDataOutputStream create(
      Path path,
      FsPermission permission,
      boolean overwrite,
      int bufferBytes,
      short replication,
      long blockBytes,
      Progressable progress)
      throws IOException {
    Path real = forWriting(path);
    // Nobody asks for other permissions than the default ones, and for local files a process would
    // be started to set them.
    return of(real).create(real, overwrite, bufferBytes, replication, blockBytes, progress);
  }

  @Override
  public FSDataOutputStream append(Path path, int bufferBytes, Progressable progress)
      throws IOException {
    throw new UnsupportedOperationException("Files of a table are never appended to: " + path);
  }

  @Override
  public boolean rename(Path from, Path to) throws IOException {
    Path real = ViewPath.of(from).physical();
    return of(real).rename(real, forWriting(to));
  }

  @Override
  public boolean delete(Path path, boolean recursive) throws IOException {
    ViewPath view = ViewPath.of(path);
    if (view.isOfLog() && !view.isTemporary()) {
      // The log belongs to the lake's versions, and only its garbage collection deletes from it:
      // Delta's own clean-up knows nothing of versions.
      return false;
    }
    Path real = view.physical();
    return of(real).delete(real, recursive);
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    if (ViewPath.of(path).isLog()) {
      return LogListing.list(path, 0).toArray(FileStatus[]::new);
    }
    Path real = ViewPath.of(path).physical();
    FileStatus[] files = of(real).listStatus(real);
    for (int i = 0; i < files.length; i++) {
      files[i] = virtual(files[i], new Path(path, files[i].getPath().getName()));
    }
    return files;
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    ViewPath view = ViewPath.of(path);
    if (view.isLog()) {
      LogListing.list(path, 0);
      return new FileStatus(0, true, 1, 0, 0, path);
    }
    if (view.isCommit() && view.needsEngine()) {
      // Delta goes on with the path in the status, also on executors: it must say all they need.
      return LogListing.find(path);
    }
    Path real = existing(path);
    return virtual(of(real).getFileStatus(real), path);
  }

  @Override
  public BlockLocation[] getFileBlockLocations(FileStatus file, long start, long length)
      throws IOException {
    Path real = ViewPath.of(file.getPath()).physical();
    return of(real).getFileBlockLocations(virtual(file, real), start, length);
  }

  @Override
  public boolean mkdirs(Path path, FsPermission permission) throws IOException {
    Path real = ViewPath.of(path).physical();
    return of(real).mkdirs(real);
  }

  @Override
  public void setWorkingDirectory(Path path) {
    workingDirectory = path;
  }

  @Override
  public Path getWorkingDirectory() {
    return workingDirectory;
  }

  @Override
  public long getDefaultBlockSize(Path path) {
    Path real = ViewPath.of(path).physical();
    try {
      return of(real).getDefaultBlockSize(real);
    } catch (IOException e) {
      return super.getDefaultBlockSize(path);
    }
  }

  @Override
  public boolean hasPathCapability(Path path, String capability) throws IOException {
    Path real = ViewPath.of(path).physical();
    return of(real).hasPathCapability(real, capability);
  }

  /** The warehouse path of a file that is about to be written. */
  private static Path forWriting(Path path) throws IOException {
    ViewPath view = ViewPath.of(path);
    return view.needsEngine() ? LogListing.resolve(path, true) : view.physical();
  }

  private static Path existing(Path path) throws IOException {
    Path listed = LogListing.listed(path);
    ViewPath view = ViewPath.of(listed);
    if (!view.needsEngine()) {
      return view.physical();
    }
    Path real = LogListing.resolve(listed, false);
    if (real == null) {
      throw new FileNotFoundException(path.toString());
    }
    return real;
  }

  /** The file system behind; of a local one without the checksum file beside each file. */
  private FileSystem of(Path real) throws IOException {
    FileSystem files = real.getFileSystem(getConf());
    return files instanceof LocalFileSystem local ? local.getRaw() : files;
  }

  private static FileStatus virtual(FileStatus file, Path path) {
    return new FileStatus(
        file.getLen(),
        file.isDirectory(),
        file.getReplication(),
        file.getBlockSize(),
        file.getModificationTime(),
        path);
  }
}
