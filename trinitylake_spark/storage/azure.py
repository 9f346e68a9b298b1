"""Opens ``abfs://<container>@<account>.dfs.core.windows.net/<prefix>``: Azure Blob and ADLS."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from obstore.store import AzureStore

from trinitylake_spark.storage.location import split_url
from trinitylake_spark.storage.objects import open_objects
from trinitylake_spark.storage.options import Options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trinitylake_spark.storage.base import Storage
    from trinitylake_spark.storage.location import Location

_FORM = "abfs://<container>@<account>.dfs.core.windows.net/<prefix> or az://<container>/<prefix>"
_PUBLIC_CLOUD = ".core.windows.net"
_DENIED = "Check the account's key or token, and its role on the container."


def open_storage(url: str, options: Mapping[str, Any] | None = None) -> Storage:
    """Open a container's prefix, through the blob endpoint (also of ADLS Gen2 accounts).

    Args:
        url: ``abfs[s]://<container>@<account>.dfs.core.windows.net/<prefix>``, or
            ``az://<container>/<prefix>`` with the account among the options.
        options: object_store's names (``azure_storage_account_name``,
            ``azure_storage_account_key``, ``azure_storage_sas_key``, ``azure_client_id`` …) and
            the client's (``timeout``, ``max_retries`` …). Environment variables, workload
            identity and managed identity apply.

    Raises:
        InvalidInputError: a wrong URL or an unknown option.
        UnsupportedError: the client library is not installed.
    """
    location = split_url(url, _FORM)
    given = Options(options)
    endpoint = (
        given.text("azure_storage_endpoint", "azure_endpoint", "endpoint")
        or os.environ.get("AZURE_STORAGE_ENDPOINT")
        or os.environ.get("AZURE_ENDPOINT")
        or ""
    )
    emulator = given.flag("azure_storage_use_emulator", "use_emulator")
    container, account = _container_and_account(location)
    if account and not endpoint and not location.host.endswith(_PUBLIC_CLOUD):
        endpoint = f"https://{location.host.replace('.dfs.', '.blob.', 1)}"

    def opener(arguments: dict[str, Any]) -> AzureStore:
        config = dict(arguments["config"])
        if account:
            config["azure_storage_account_name"] = account
        if endpoint:
            config["azure_storage_endpoint"] = endpoint
        if emulator:
            config["azure_storage_use_emulator"] = "true"
        return AzureStore(container, **{**arguments, "config": config})

    return open_objects(
        location,
        given,
        opener,
        allow_http=emulator or endpoint.startswith("http://"),
        denied_advice=_DENIED,
        replaced="\\",
    )


def _container_and_account(location: Location) -> tuple[str, str]:
    if location.user:
        return location.user, location.host.partition(".")[0]
    return location.authority, ""
