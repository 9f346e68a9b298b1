"""Opens ``s3://<bucket>/<prefix>``: Amazon S3 and everything that speaks its protocol."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obstore.store import S3Store

from trinitylake_spark.storage.location import split_url
from trinitylake_spark.storage.objects import open_objects
from trinitylake_spark.storage.options import Options, missing_client

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trinitylake_spark.storage.base import Storage

_KEYS = ("aws_access_key_id", "access_key_id")
_ENDPOINTS = ("aws_endpoint", "aws_endpoint_url", "aws_endpoint_url_s3", "endpoint", "endpoint_url")
_ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_CREDENTIAL_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
_SHARED_FILES = {"AWS_SHARED_CREDENTIALS_FILE": "credentials", "AWS_CONFIG_FILE": "config"}
_DENIED = (
    "Check the credentials; without s3:ListBucket, S3 answers 403 for objects that do not exist."
)


def open_storage(url: str, options: Mapping[str, Any] | None = None) -> Storage:
    """Open a bucket's prefix.

    Args:
        url: ``s3://<bucket>/<prefix>`` (``s3a://`` is the same).
        options: object_store's names (``aws_access_key_id``, ``aws_secret_access_key``,
            ``aws_region``, ``aws_endpoint`` …), ``aws_profile``, and the client's
            (``timeout``, ``connect_timeout``, ``max_retries``, ``retry_timeout``,
            ``allow_http`` …). Environment variables and the default credential chain apply.

    Raises:
        InvalidInputError: a wrong URL or an unknown option.
        UnsupportedError: a client library is not installed.
    """
    location = split_url(url, "s3://<bucket>/<prefix>")
    given = Options(options)
    profile = given.text("aws_profile", "profile") or os.environ.get("AWS_PROFILE")
    endpoint = given.text(*_ENDPOINTS)
    in_effect = endpoint or next(
        (os.environ[name] for name in _ENDPOINT_VARIABLES if os.environ.get(name)), ""
    )

    def opener(arguments: dict[str, Any]) -> S3Store:
        config = arguments["config"]
        if endpoint is not None:
            # Both names, so that a variable of the environment does not win over the option.
            config = {**config, "aws_endpoint": endpoint, "aws_endpoint_url_s3": endpoint}
        # We delete one object a call: the plain request works everywhere, the bulk one does not.
        config = {"aws_disable_bulk_delete": "true", **config}
        provider = _credential_provider(profile, config)
        arguments = {**arguments, "config": config, "credential_provider": provider}
        return S3Store(location.authority, **arguments)

    return open_objects(
        location,
        given,
        opener,
        allow_http=in_effect.startswith("http://"),
        denied_advice=_DENIED,
    )


def _credential_provider(profile: str | None, config: Mapping[str, Any]) -> object | None:
    """Use AWS's shared configuration files where credentials come from nowhere else."""
    if any(name in config for name in _KEYS) or "aws_skip_signature" in config:
        return None
    if profile is None:
        if any(os.environ.get(name) for name in _CREDENTIAL_VARIABLES):
            return None
        if not any(
            Path(os.environ.get(variable, Path.home() / ".aws" / name)).exists()
            for variable, name in _SHARED_FILES.items()
        ):
            return None
    try:
        import boto3  # noqa: PLC0415 - only profiles need it
        from obstore.auth.boto3 import Boto3CredentialProvider  # noqa: PLC0415
    except ImportError as error:
        raise missing_client("boto3", "s3") from error
    session = boto3.Session(profile_name=profile)
    if profile is None and session.get_credentials() is None:
        return None
    return Boto3CredentialProvider(session)
