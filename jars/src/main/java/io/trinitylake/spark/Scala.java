package io.trinitylake.spark;

import java.util.List;
import java.util.Map;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** The few conversions to Scala's collections that calls into Spark and Delta need. */
final class Scala {
  private Scala() {}

  /** An immutable Scala map with the same entries. */
  static <K, V> scala.collection.immutable.Map<K, V> map(Map<K, V> entries) {
    scala.collection.immutable.Map<K, V> result = scala.collection.immutable.Map$.MODULE$.empty();
    for (Map.Entry<K, V> entry : entries.entrySet()) {
      result = result.$plus(new Tuple2<>(entry.getKey(), entry.getValue()));
    }
    return result;
  }

  /** An immutable Scala sequence with the same elements. */
  static <T> Seq<T> seq(List<T> elements) {
    return CollectionConverters.asScala(elements).toSeq();
  }

  /** Scala's {@code None}. */
  static <T> Option<T> none() {
    return Option.empty();
  }
}
