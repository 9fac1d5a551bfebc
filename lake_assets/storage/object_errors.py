"""What a bucket answers, as errors that say what to do. Which call it answered is the store's."""

from collections.abc import Iterator
from contextlib import contextmanager

from obstore.exceptions import BaseError

from lake_assets.errors import LakeError, NoBucketError, StoreAwayError, first_line
from lake_assets.model.lake_uri import AZURE, GCS, S3, LakeUri

CREDENTIALS = {
    S3: "aws_access_key_id and aws_secret_access_key",
    GCS: "google_service_account (the path of its JSON file)",
    AZURE: "azure_storage_account_name and azure_storage_account_key",
}
"""By kind of store, the usual options to log in with."""

_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist")

_REFUSED = (
    "AccessDenied",
    "AuthenticationFailed",
    "AuthorizationFailure",
    "AuthorizationPermissionMismatch",
    "ExpiredToken",
    "Forbidden",
    "InvalidAccessKeyId",
    "InvalidToken",
    "SignatureDoesNotMatch",
    "Unauthorized",
)

_NO_CREDENTIALS = ("169.254.169.254", "metadata.google.internal", "MissingCredentials")
"""Where a machine in a cloud finds its credentials: asked only if none are given."""

_TOO_OFTEN = ("SlowDown", "429 Too Many Requests", "503 Service Unavailable", "ServerBusy")

_NOT_BUILT = "builder error"
"""What the client says of an address that it does not ask, such as one without encryption."""

_PANIC = "PanicException"
"""What obstore raises where it cannot make a request: no `Exception`, and of no module."""

_NO_ANSWER = ("error sending request", "dns error", "timed out", "operation timed out")


_BROKEN = ("500 Internal", "502 Bad Gateway", "504 Gateway", "InternalError")


@contextmanager
def told(file: LakeUri, what: str) -> Iterator[None]:
    """Tell what obstore says of a file as an error of ours, but for a file that is not there.

    Raises:
        FileNotFoundError: there is no such file.
        LakeError: anything else.
    """
    try:
        yield
    except FileNotFoundError as problem:
        ensure_bucket(file, problem)
        raise FileNotFoundError(str(file)) from problem
    except (BaseError, OSError, ValueError) as problem:
        raise unusable(file, what, problem) from problem
    except BaseException as problem:
        if type(problem).__name__ != _PANIC:
            raise
        fact = f"cannot be {what}: no request can be made with its options ({first_line(problem)})"
        step = "Correct key, token, region and endpoint, also in the environment: a line's end?"
        raise LakeError(str(file), fact, step) from problem


def ensure_bucket(file: LakeUri, problem: FileNotFoundError) -> None:
    """Make sure that what was not found is the file and not its bucket.

    Raises:
        LakeError: there is no such bucket.
    """
    if any(word in str(problem) for word in _NO_BUCKET):
        raise unusable(file, "found", problem) from problem


def unusable(file: LakeUri, what: str, problem: Exception) -> LakeError:
    """What obstore or deltalake says of a bucket, as an error of ours.

    Args:
        file: or folder, that was asked for.
        what: was to happen to it, as "read".
        problem: what was said.
    """
    text = str(problem)
    fact, step = f"cannot be {what} ({first_line(problem)})", "Check the bucket and the network"
    if any(word in text for word in _NO_BUCKET):
        fact = f"cannot be {what}: there is no bucket {file.bucket!r}"
        return NoBucketError(str(file), fact, "Create the bucket, or name another")
    if any(word in text for word in _NO_CREDENTIALS):
        fact = f"cannot be {what}: no credentials are given, and this machine has none"
        step = f"Set {CREDENTIALS[file.scheme]} among its options"
    elif refusal := next((word for word in _REFUSED if word in text), None):
        fact = f"cannot be {what}: the store refuses our credentials ({refusal})"
        step = f"Check the access key and what it may do in bucket {file.bucket!r}"
    elif any(word in text for word in _TOO_OFTEN):
        fact = f"cannot be {what}: the store is asked too often, or is overloaded"
        step = "Wait; ask for less at once, or raise what the bucket allows"
        return StoreAwayError(str(file), fact, step)
    elif _NOT_BUILT in text:
        fact = f"cannot be {what}: its endpoint is none, or is http:// and that is not allowed"
        step = "Correct the endpoint; to do without encryption, set allow_http to true"
    elif any(word in text for word in _NO_ANSWER):
        fact = f"cannot be {what}: the store does not answer ({first_line(problem)})"
        return StoreAwayError(str(file), fact, "Check its endpoint and the network")
    elif any(word in text for word in _BROKEN):
        fact = f"cannot be {what}: the store has an error of its own ({first_line(problem)})"
        return StoreAwayError(str(file), fact, "Wait, or look at the store's log")
    return LakeError(str(file), fact, step)
