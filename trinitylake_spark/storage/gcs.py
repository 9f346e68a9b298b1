"""Opens ``gs://<bucket>/<prefix>``: Google Cloud Storage."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from obstore.store import GCSStore

from trinitylake_spark.storage.location import split_url
from trinitylake_spark.storage.objects import open_objects
from trinitylake_spark.storage.options import Options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trinitylake_spark.storage.base import Storage

_DENIED = (
    "Check the credentials; without storage.objects.list, Google Cloud Storage answers 403 "
    "for objects that do not exist."
)


def open_storage(url: str, options: Mapping[str, Any] | None = None) -> Storage:
    """Open a bucket's prefix.

    Args:
        url: ``gs://<bucket>/<prefix>`` (``gcs://`` is the same).
        options: object_store's names (``google_service_account``,
            ``google_service_account_key``, ``google_application_credentials`` …) and the
            client's (``timeout``, ``max_retries`` …). Environment variables and Google's
            application default credentials apply.

    Raises:
        InvalidInputError: a wrong URL or an unknown option.
        UnsupportedError: the client library is not installed.
    """
    location = split_url(url, "gs://<bucket>/<prefix>")
    given = Options(options)
    base_url = given.text("google_base_url", "base_url") or os.environ.get("GOOGLE_BASE_URL")

    def opener(arguments: dict[str, Any]) -> GCSStore:
        config = arguments["config"]
        if base_url:
            config = {**config, "google_base_url": base_url}
        return GCSStore(location.authority, **{**arguments, "config": config})

    return open_objects(
        location,
        given,
        opener,
        allow_http=(base_url or "").startswith("http://"),
        denied_advice=_DENIED,
    )
