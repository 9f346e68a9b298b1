package io.trinitylake.spark;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The same file system for Hadoop's newer interface, through which Delta writes its checksums.
 *
 * <p>Without it each commit would log a warning.
 */
public final class TrinityLakeFs extends DelegateToFileSystem {
  /** Called by Hadoop. */
  public TrinityLakeFs(URI uri, Configuration conf) throws IOException, URISyntaxException {
    super(uri, new TrinityLakeFileSystem(), conf, ViewPath.SCHEME, false);
  }

  @Override
  public void renameInternal(Path from, Path to) throws IOException {
    renameInternal(from, to, false);
  }

  @Override
  public void renameInternal(Path from, Path to, boolean overwrite) throws IOException {
    if (!fsImpl.rename(from, to)) {
      throw new IOException("Cannot rename " + from + " to " + to);
    }
  }
}
