package io.trinitylake.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.InetAddress;
import java.util.concurrent.TimeUnit;
import javax.net.SocketFactory;
import py4j.CallbackClient;
import py4j.Gateway;
import py4j.Protocol;

/** Calls the engine over loopback; every connection opens with the shared secret. */
final class EngineClient {
  private final CallbackClient connections;
  private final EngineEntryPoint entryPoint;

  /**
   * Prepares the client; connections are made when they are needed and kept.
   *
   * @param port where the engine listens, on loopback
   * @param secret what the engine was told over its standard input
   */
  EngineClient(int port, String secret) {
    // A connection time of 0 keeps connections for good and starts no cleaner thread, which would
    // not be a daemon and so would keep the JVM alive.
    connections =
        new CallbackClient(
            port,
            InetAddress.getLoopbackAddress(),
            secret,
            0L,
            TimeUnit.SECONDS,
            SocketFactory.getDefault(),
            false,
            0);
    entryPoint =
        (EngineEntryPoint)
            new Gateway(null, connections)
                .createProxy(
                    EngineEntryPoint.class.getClassLoader(),
                    new Class<?>[] {EngineEntryPoint.class},
                    Protocol.ENTRY_POINT_OBJECT_ID);
  }

  /**
   * Calls one method of the engine.
   *
   * @return the whole answer: {@code ok} or {@code error}
   */
  JsonNode call(String method, ObjectNode arguments) {
    return Json.parse(entryPoint.call(method, arguments.toString()));
  }

  /** Closes all connections. */
  void close() {
    connections.shutdown();
  }
}
