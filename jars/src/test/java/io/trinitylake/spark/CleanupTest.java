package io.trinitylake.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.junit.jupiter.api.Test;

/** What was prepared is given up whatever a failure is, and the failure stays the one reported. */
final class CleanupTest {
  private final List<String> done = new ArrayList<>();
  private final TrinityLakeException failure = TrinityLakeException.unsupported("first");
  private final TrinityLakeException second = TrinityLakeException.unsupported("second");

  /** Spark's exceptions are checked, so that they are no RuntimeException. */
  @Test
  void cleansUpAfterSparksOwnExceptions() {
    Throwable thrown =
        assertThrows(
            TrinityLakeException.class,
            () -> Cleanup.ifFails(() -> fail(failure), () -> done.add("undone")));
    assertSame(failure, thrown);
    assertEquals(List.of("undone"), done);
  }

  /** Without a failure there is nothing to clean up. */
  @Test
  void leavesAloneWhatSucceeded() {
    assertEquals(5, Cleanup.ifFails(() -> 5, () -> done.add("undone")));
    assertEquals(List.of(), done);
  }

  /** A clean-up that fails, as ROLLBACK may after a block, does not hide why it was needed. */
  @Test
  void keepsTheFailureIfTheCleanupFailsToo() {
    Throwable thrown =
        assertThrows(
            TrinityLakeException.class,
            () -> Cleanup.ifFails(() -> fail(failure), () -> fail(second)));
    assertSame(failure, thrown);
    assertArrayEquals(new Throwable[] {second}, thrown.getSuppressed());
  }

  /** A staged path is given up even if Delta's own table cannot be. */
  @Test
  void abandonsAStagedTable() {
    StagedDeltaTable table =
        new StagedDeltaTable("t", new Unabortable(failure), () -> done.add("abandoned"));
    assertSame(failure, assertThrows(TrinityLakeException.class, table::abortStagedChanges));
    assertEquals(List.of("abandoned"), done);
  }

  private static Object fail(Throwable failure) {
    throw Sneaky.raise(failure);
  }

  private record Unabortable(Throwable failure) implements StagedTable {
    @Override
    public String name() {
      return "t";
    }

    @Override
    public Column[] columns() {
      return new Column[0];
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of();
    }

    @Override
    public void commitStagedChanges() {
      throw Sneaky.raise(failure);
    }

    @Override
    public void abortStagedChanges() {
      throw Sneaky.raise(failure);
    }
  }
}
