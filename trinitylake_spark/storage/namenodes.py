"""Where the web servers of an HDFS's NameNodes are: from the URL, an option, or Hadoop's files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from trinitylake_spark.errors import CorruptError

if TYPE_CHECKING:
    from trinitylake_spark.storage.location import Location

_FILES = ("core-site.xml", "hdfs-site.xml")
_DEFAULT_PORTS = {"http": 9870, "https": 9871}


def web_addresses(location: Location, given: str | None, *, https: bool) -> list[str]:
    """Return base URLs of the NameNodes' web servers, in the order to try.

    Args:
        location: the root; ``webhdfs://`` and ``swebhdfs://`` name the web server themselves,
            ``hdfs://`` names an RPC server or a nameservice.
        given: the option ``hdfs_http_address``: ``host:port``, several separated by commas.
        https: speak TLS.
    """
    protocol = "https" if https else "http"
    if given:
        names = [name.strip() for name in given.split(",") if name.strip()]
    elif location.scheme in ("webhdfs", "swebhdfs"):
        names = [location.host]
    else:
        names = _from_hadoop_files(location.host, protocol)
    if not names:
        names = [location.host.partition(":")[0]]
    port = _DEFAULT_PORTS[protocol]
    return [f"{protocol}://{name if ':' in name else f'{name}:{port}'}" for name in names]


def _from_hadoop_files(authority: str, protocol: str) -> list[str]:
    settings = _hadoop_settings()
    key = f"dfs.namenode.{protocol}-address"
    members = settings.get(f"dfs.ha.namenodes.{authority}", "")
    if members:
        names = [settings.get(f"{key}.{authority}.{one.strip()}") for one in members.split(",")]
        return [name for name in names if name]
    name = settings.get(f"{key}.{authority}") or settings.get(key)
    if name is None:
        return []
    host, _, port = name.partition(":")
    # The wildcard is where the server listens, not how a client reaches it.
    return [f"{authority.partition(':')[0] if host == '0.0.0.0' else host}:{port}"]  # noqa: S104


def _hadoop_settings() -> dict[str, str]:
    folder = os.environ.get("HADOOP_CONF_DIR")
    settings: dict[str, str] = {}
    for name in _FILES if folder else ():
        file = Path(str(folder)) / name
        if not file.exists():
            continue
        try:
            tree = ET.parse(file)  # noqa: S314 - the administrator's own configuration
        except ET.ParseError as error:
            raise CorruptError(f"Hadoop's {file} is no XML: {error}.", path=str(file)) from error
        for one in tree.iter("property"):
            settings[(one.findtext("name") or "").strip()] = (one.findtext("value") or "").strip()
    return settings
