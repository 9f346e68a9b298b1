package io.trinitylake.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.execution.command.ExplainCommand;
import org.junit.jupiter.api.Test;
import scala.Enumeration;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** Of each command that there is, it is known whether a transaction may contain it. */
final class CommandsTest {
  /** Spark's optional Hive module, which is not among the jars of this test. */
  private static final String HIVE = "org.apache.spark.sql.hive.";

  /** Walks the jars of Spark and Delta: no command is missing, and none is listed in vain. */
  @Test
  void everyCommandIsListed() throws IOException, URISyntaxException {
    Set<String> there = new TreeSet<>();
    for (Class<?> member : List.of(LogicalPlan.class, ExplainCommand.class, DeltaLog.class)) {
      there.addAll(commands(member));
    }
    assertTrue(there.size() > 200, "the jars were not found");

    Set<String> listed = new TreeSet<>(all());
    listed.removeIf(name -> name.startsWith(HIVE));
    assertEquals(there, listed);
  }

  /** A command has one place. */
  @Test
  void noCommandIsListedTwice() {
    assertEquals(all().size(), new HashSet<>(all()).size());
  }

  /** What a command does that somebody else wrote is not known, so it is not let through. */
  @Test
  void unknownCommandsAreNotLetThrough() {
    assertEquals(
        List.of("whatever " + Unknown.class.getName() + " changes"),
        new WriteTarget(null).of(new Unknown()));
  }

  private static Collection<String> all() {
    return Stream.of(Commands.HARMLESS, Commands.PERHAPS_TEMPORARY, Commands.FIRST, Commands.ANY)
        .flatMap(Set::stream)
        .toList();
  }

  /** The names of the commands in the jar that a class is from. */
  private static Set<String> commands(Class<?> member) throws IOException, URISyntaxException {
    Set<String> found = new TreeSet<>();
    File jar = new File(member.getProtectionDomain().getCodeSource().getLocation().toURI());
    try (JarFile opened = new JarFile(jar)) {
      for (JarEntry entry : Collections.list(opened.entries())) {
        String name = entry.getName();
        if (name.endsWith(".class")
            && (name.startsWith("org/apache/spark/sql/") || name.startsWith("io/delta/"))) {
          addIfCommand(name.substring(0, name.length() - ".class".length()), found);
        }
      }
    }
    return found;
  }

  private static void addIfCommand(String path, Set<String> found) {
    String name = path.replace('/', '.');
    try {
      Class<?> type = Class.forName(name, false, CommandsTest.class.getClassLoader());
      if (Command.class.isAssignableFrom(type) && !Modifier.isAbstract(type.getModifiers())) {
        found.add(name);
      }
    } catch (ClassNotFoundException | LinkageError e) {
      assertTrue(isOptional(e), () -> name + " cannot be looked at: " + e);
    }
  }

  /** Whether a class needs a library that this build leaves out, as no command does. */
  private static boolean isOptional(Throwable error) {
    return error instanceof NoClassDefFoundError;
  }

  /** A command of an extension. */
  private static final class Unknown extends LogicalPlan implements Command {
    private static final long serialVersionUID = 1L;

    @Override
    public Seq<Attribute> output() {
      return Scala.seq(List.of());
    }

    @Override
    public Seq<LogicalPlan> children() {
      return Scala.seq(List.of());
    }

    @Override
    public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> newChildren) {
      return this;
    }

    @Override
    public Seq<Enumeration.Value> nodePatterns() {
      return Scala.seq(List.of());
    }

    /** What Scala makes of a value in a trait. */
    @Override
    public void org$apache$spark$sql$catalyst$plans$logical$Command$_setter_$nodePatterns_$eq(
        Seq<Enumeration.Value> patterns) {
      // There are none.
    }

    @Override
    public int productArity() {
      return 0;
    }

    @Override
    public Object productElement(int index) {
      throw new IndexOutOfBoundsException(index);
    }

    @Override
    public boolean canEqual(Object other) {
      return other instanceof Unknown;
    }
  }
}
