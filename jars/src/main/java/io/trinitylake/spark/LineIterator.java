package io.trinitylake.spark;

import io.delta.storage.CloseableIterator;
import java.io.BufferedReader;
import java.io.IOException;
import java.util.Iterator;

/** The lines of an open file; closing it closes the file. */
final class LineIterator implements CloseableIterator<String> {
  private final BufferedReader reader;
  private final Iterator<String> lines;

  LineIterator(BufferedReader reader) {
    this.reader = reader;
    this.lines = reader.lines().iterator();
  }

  @Override
  public boolean hasNext() {
    return lines.hasNext();
  }

  @Override
  public String next() {
    return lines.next();
  }

  @Override
  public void close() throws IOException {
    reader.close();
  }
}
