"""A real HDFS: one NameNode and one DataNode, from Hadoop's own classes."""

from __future__ import annotations

import getpass
import importlib.util
import json
import subprocess
from pathlib import Path
from typing import ClassVar

from tests.servers import install
from tests.servers.base import HOST, Server, fetch, free_port

_NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
_DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
_STATE = "jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
_FORMAT_SECONDS = 120
_QUICK_CLOSE = "dfs.client.block.write.locateFollowingBlock.initial.delay.ms"


class Hdfs(Server):
    """NameNode and DataNode; the address is the NameNode's web server."""

    name: ClassVar[str] = "hdfs"
    artifact: ClassVar[str] = "org.apache.hadoop:hadoop-client-minicluster:3.5.0"

    def install(self) -> None:
        """One jar; Hadoop's client jars come with PySpark."""
        install.jar(self.artifact)

    def launch(self) -> str:
        """Format the NameNode and start both."""
        self._ports = {name: free_port() for name in ("rpc", "web", "data", "data-web", "data-ipc")}
        address = f"{HOST}:{self._ports['web']}"
        self._configure(address)
        classpath = ":".join([str(self._folder / "conf"), *map(str, _jars(self.artifact))])
        formatted = subprocess.run(
            install.java("-cp", classpath, _NAMENODE, "-format", "-force", "-nonInteractive"),
            capture_output=True,
            timeout=_FORMAT_SECONDS,
            check=False,
        )
        if formatted.returncode:
            message = f"Formatting the NameNode failed:\n{formatted.stderr.decode()[-2000:]}"
            raise install.ServerError(message)
        for role in (_NAMENODE, _DATANODE):
            self.spawn(install.java("-cp", classpath, role))
        return address

    def healthy(self) -> bool:
        """The NameNode is out of safe mode, and its DataNode has told how much room it has."""
        [state] = json.loads(fetch(f"http://{self.address}/{_STATE}"))["beans"]
        live = state["FSState"] == "Operational" and state["NumLiveDataNodes"] == 1
        # Until its first heartbeat a DataNode is known, but gets no files.
        return bool(live and state["CapacityRemaining"] > 0)

    def prepare(self) -> None:
        """Folders are made as needed."""

    def url(self, prefix: str) -> str:
        """A folder, by the address of the web server."""
        return f"webhdfs://{self.endpoint}/{prefix}"

    def options(self) -> dict[str, str]:
        """The user who started the NameNode, and so owns it."""
        return {"hdfs_user": getpass.getuser()}

    def _configure(self, address: str) -> None:
        ports = self._ports
        self.file(
            "conf/core-site.xml",
            _settings({"fs.defaultFS": f"hdfs://{HOST}:{ports['rpc']}"}),
        )
        settings = {
            "dfs.replication": "1",
            "dfs.namenode.name.dir": str(self.folder("name")),
            "dfs.datanode.data.dir": str(self.folder("blocks")),
            "dfs.namenode.http-address": address,
            "dfs.namenode.rpc-bind-host": HOST,
            "dfs.datanode.address": f"{HOST}:{ports['data']}",
            "dfs.datanode.http.address": f"{HOST}:{ports['data-web']}",
            "dfs.datanode.ipc.address": f"{HOST}:{ports['data-ipc']}",
            "dfs.datanode.hostname": HOST,
            # Closing a file waits this long for its last block; the default is 400 ms.
            _QUICK_CLOSE: "5",
        }
        self.file("conf/hdfs-site.xml", _settings(settings))


def _jars(artifact: str) -> list[Path]:
    found = importlib.util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        message = "HDFS's jars come with pyspark, which is not installed."
        raise install.ServerError(message)
    spark = Path(found.submodule_search_locations[0]) / "jars"
    patterns = ("hadoop-client-*.jar", "slf4j-api*.jar", "log4j-*.jar", "jcl-over*.jar")
    jars = [jar for pattern in patterns for jar in sorted(spark.glob(pattern))]
    return [*jars, install.jar(artifact), *sorted(spark.glob("commons-logging*.jar"))]


def _settings(values: dict[str, str]) -> str:
    properties = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in values.items()
    )
    return f"<configuration>{properties}</configuration>\n"
