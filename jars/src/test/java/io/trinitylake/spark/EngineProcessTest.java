package io.trinitylake.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeout;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How an engine starts, or says why it does not. */
final class EngineProcessTest {
  private static final Duration SOON = Duration.ofSeconds(30);

  @TempDir private Path folder;

  /** What a Python prints before the greeting is skipped, also if it ends in no line feed. */
  @Test
  void skipsWhatIsNoGreeting() throws IOException {
    String python =
        script("echo 'conda: activated'; printf '{\"a\": 1}, '; echo '{\"port\": 4}'; cat");
    assertTimeout(SOON, () -> assertTrue(EngineProcess.running(python).isAlive()));
  }

  /** An engine that ends instead of greeting is an error at once, with all that it said. */
  @Test
  void reportsItsLastWords() throws IOException {
    String python = script("echo 'out of order'; echo 'really' >&2; sleep 1; exit 3");
    TrinityLakeException error =
        assertTimeout(
            SOON, () -> assertThrows(TrinityLakeException.class, () -> new EngineProcess(python)));
    assertEquals(TrinityLakeException.ENGINE, error.getCondition());
    assertTrue(error.getMessage().contains("out of order"), error.getMessage());
    assertTrue(error.getMessage().contains("really"), error.getMessage());
  }

  private String script(String body) throws IOException {
    Path script = Files.writeString(folder.resolve("python"), "#!/bin/sh\n" + body + "\n");
    assertTrue(script.toFile().setExecutable(true));
    return script.toString();
  }
}
