package io.trinitylake.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.delta.DeltaLog;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import py4j.Py4JException;

/**
 * The engine: one Python process for each driver, which shares the driver's fate.
 *
 * <p>It is told a secret over its standard input and says on its standard output where it listens.
 * The standard input stays open for as long as the driver lives: the end of it ends the engine,
 * even if the driver is killed. If the engine dies, the next call says so, and the one after it
 * starts a new engine.
 */
final class EngineProcess {
  private static final Logger LOG = LoggerFactory.getLogger(EngineProcess.class);
  private static final String MODULE = "trinitylake_spark.spark.engine";
  private static final Pattern GREETING = Pattern.compile("\\{\"port\": (\\d+)}$");

  /**
   * Starts the engine with none of the modules that lie about in the working directory: {@code -P}.
   * Only a checkout of this package goes before the installed one, so that a driver that runs from
   * it gets an engine of the same code.
   */
  private static final String START =
      """
      import os, runpy, sys
      if os.path.exists("trinitylake_spark/__init__.py"):
          sys.path.insert(0, os.getcwd())
          import trinitylake_spark
          del sys.path[0]
      runpy.run_module("%s", run_name="__main__")
      """
          .formatted(MODULE);

  private static final long START_SECONDS = 60;
  private static final long END_SECONDS = 5;
  private static final int LAST_WORDS = 20;

  private static EngineProcess current;

  private final String python;
  private final Process process;
  private final EngineClient client;
  private final Deque<String> lastWords = new ArrayDeque<>();

  /**
   * Starts an engine.
   *
   * @param python the executable to start it with
   * @throws TrinityLakeException (sneaky) {@code TRINITYLAKE_ENGINE} if it does not start
   */
  EngineProcess(String python) {
    this.python = python;
    byte[] secret = new byte[32];
    new SecureRandom().nextBytes(secret);
    String token = HexFormat.of().formatHex(secret);
    try {
      process = new ProcessBuilder(python, "-P", "-c", START).start();
    } catch (IOException e) {
      throw Sneaky.raise(
          TrinityLakeException.engine(
              "Cannot run '"
                  + python
                  + "': "
                  + e.getMessage()
                  + ". Set spark.pyspark.python to the Python that has trinitylake_spark.",
              e));
    }
    follow("errors", process.getErrorStream(), this::remember);
    client = new EngineClient(handshake(token), token);
  }

  /**
   * The engine of this driver, started if there is none or if the last one died.
   *
   * @param python the executable to start it with
   */
  static synchronized EngineProcess running(String python) {
    if (current == null || !current.process.isAlive()) {
      if (current == null) {
        Runtime.getRuntime().addShutdownHook(new Thread(EngineProcess::stop, "trinitylake-stop"));
      } else {
        current.client.close();
        // A new engine knows none of the paths that Delta may still have cached logs for.
        DeltaLog.clearCache();
        LogListing.forgetAll();
      }
      current = new EngineProcess(python);
    }
    return current;
  }

  /** The engine of this driver, which a catalog has started before. */
  static synchronized EngineProcess started() {
    if (current == null) {
      throw Sneaky.raise(
          TrinityLakeException.engine(
              "A Delta log was opened where no catalog is: only the driver can do that.", null));
    }
    return current;
  }

  private static synchronized void stop() {
    if (current != null) {
      current.end();
    }
  }

  /** Whether the process lives. */
  boolean isAlive() {
    return process.isAlive();
  }

  /**
   * Calls the engine.
   *
   * @return the whole answer: {@code ok} or {@code error}
   * @throws TrinityLakeException (sneaky) {@code TRINITYLAKE_ENGINE} if the engine is gone
   */
  JsonNode call(String method, ObjectNode arguments) {
    try {
      return client.call(method, arguments);
    } catch (Py4JException e) {
      throw Sneaky.raise(TrinityLakeException.engine(explainLoss(method), e));
    }
  }

  private String explainLoss(String method) {
    try {
      if (!process.waitFor(1, TimeUnit.SECONDS)) {
        return "The engine process did not answer '" + method + "' although it lives.";
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "The wait for the engine process was interrupted.";
    }
    return "The engine process ended (exit code "
        + process.exitValue()
        + ") during '"
        + method
        + "'. Whatever was not committed is rolled back; the next statement starts a new engine."
        + lastWords();
  }

  private int handshake(String token) {
    CompletableFuture<Integer> greeting = new CompletableFuture<>();
    follow(
        "output",
        process.getInputStream(),
        line -> {
          // Whoever configures this Python may print before the engine does, even half a line.
          Matcher port = GREETING.matcher(line);
          if (greeting.isDone()) {
            LOG.info("engine: {}", line);
          } else if (port.find()) {
            greeting.complete(Integer.valueOf(port.group(1)));
          } else {
            remember(line);
          }
        });
    process.onExit().thenRun(() -> greeting.completeExceptionally(new IOException("it ended")));
    try {
      process.getOutputStream().write((token + "\n").getBytes(StandardCharsets.UTF_8));
      process.getOutputStream().flush();
      return greeting.get(START_SECONDS, TimeUnit.SECONDS);
    } catch (IOException | ExecutionException | TimeoutException e) {
      end();
      throw Sneaky.raise(
          TrinityLakeException.engine(
              "The engine did not start: '"
                  + python
                  + " -P -m "
                  + MODULE
                  + "'. Is trinitylake_spark installed for that Python? Otherwise set"
                  + " spark.pyspark.python."
                  + lastWords(),
              e));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      end();
      throw Sneaky.raise(TrinityLakeException.engine("The start was interrupted.", e));
    }
  }

  private void remember(String line) {
    LOG.warn("engine: {}", line);
    synchronized (lastWords) {
      lastWords.addLast(line);
      if (lastWords.size() > LAST_WORDS) {
        lastWords.removeFirst();
      }
    }
  }

  private String lastWords() {
    synchronized (lastWords) {
      return lastWords.isEmpty() ? "" : " It said:\n" + String.join("\n", lastWords);
    }
  }

  private void end() {
    try {
      process.getOutputStream().close();
    } catch (IOException e) {
      LOG.debug("The engine's input was closed already.", e);
    }
    try {
      if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  private static void follow(
      String what, InputStream stream, java.util.function.Consumer<String> consumer) {
    Thread thread =
        new Thread(
            () -> {
              try (BufferedReader reader =
                  new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
                reader.lines().forEach(consumer);
              } catch (IOException | java.io.UncheckedIOException e) {
                LOG.debug("The engine's {} ended.", what, e);
              }
            },
            "trinitylake-engine-" + what);
    thread.setDaemon(true);
    thread.start();
  }
}
