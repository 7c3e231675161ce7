"""Brings a file here: a path is itself, a remote file comes into the cache whole or not at all."""

from __future__ import annotations

import datetime as dt
import fcntl
import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import parse_qsl, unquote, urlsplit

from earthrecord.archive import signature
from earthrecord.errors import FetchFailed
from earthrecord.products.patterns import RASTER_ENDINGS

if TYPE_CHECKING:
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

_BUCKETS = {
    "s3": "AWS",
    "s3a": "AWS",
    "gs": "GOOGLE",
    "az": "AZURE",
    "azure": "AZURE",
    "abfs": "AZURE",
    "abfss": "AZURE",
}
_TOKEN = re.compile(r"(.*[_-])?(token|api[_-]?key|password|secret)", re.IGNORECASE)
_SIGNATURE = re.compile(r"sig|signature|x-(amz|goog)-signature|hdne[at]s?", re.IGNORECASE)
_SIGNED_WITH = re.compile(
    r"s[eiprtv]|spr|srt|ss|sk(oid|tid|t|e|s|v)|sdd|scid|saoid|suoid|x-(amz|goog|ms)-.*"
    r"|awsaccesskeyid|googleaccessid|expires|policy|key-pair-id",
    re.IGNORECASE,
)
"""Parameters that go with a signature (Azure, AWS, Google, CloudFront); alone they may say what is asked for."""
_LASTING = {
    r"^\w+ (404|410) ": "is not there (404); the provider may have replaced it: search again",
    r"^\w+ (401|403) |^(PermissionDenied|Unauthenticated)": "access denied; log in, or sign the link anew",
    r"Content-Length": "the server does not tell its length, so a cut file could not be told from a whole one: fetch it by hand",
    r"configured region": "the bucket is in another region: set AWS_REGION",
    r"^(ValueError|InvalidPath|NotSupported|UnknownConf)": "is no address that can be fetched; check the link",
}
"""Failures that trying again does not mend, by error class, status and text."""
_CHUNK = 4 * 1024 * 1024


@dataclass(frozen=True)
class Patience:
    """How long a download is tried: attempts, first pause between them, and seconds without a byte."""

    attempts: int = 4
    pause: float = 0.5
    stall: float = 60.0


class _Transient(Exception):
    """A failure that may pass: server errors, timeouts, broken connections."""


def local(
    href: str,
    cache: Path,
    expected_bytes: int | None = None,
    *,
    allow_network: bool = True,
    patience: Patience = Patience(),
) -> Path:
    """The path of a file that `href` names, fetched into `cache` first where it is remote.

    `href` is a path, a file: URL, or an http, https, s3, gs or az URL. A fetched file stands in the cache under a
    name made from its address without the parts that only sign the request, and only when it is whole:
    length as the server (and `expected_bytes`) says, and no error page. Raises `FetchFailed`, which names the
    file without its query; only what may pass (server errors, timeouts, broken connections) is tried again.
    """
    scheme = urlsplit(href).scheme.lower()
    if scheme in ("", "file") or len(scheme) == 1:
        return _on_disk(href, expected_bytes)
    if scheme not in ("http", "https", *_BUCKETS):
        raise FetchFailed(
            f"{shown(href)}: can not fetch {scheme!r} addresses; use a path, http(s), s3, gs or az"
        )
    target = cache / cache_name(href)
    if _whole(target, expected_bytes):
        return target
    if not allow_network:
        raise FetchFailed(f"{shown(href)}: not in the cache {cache}, and the network is switched off")
    _bring(href, target, expected_bytes, patience)
    return target


def cache_name(href: str) -> str:
    """The name of a remote file in the cache: 16 digits of its address's SHA-256, then its own name.

    What only signs the request is no part of the address, so a link signed anew finds the file again.
    """
    parts = urlsplit(href)
    asked = sorted(_asked(parse_qsl(parts.query, keep_blank_values=True)))
    host = parts.netloc.rpartition("@")[2].lower()
    address = f"{parts.scheme.lower()}://{host}{parts.path}" + "".join(
        f"&{key}={value}" for key, value in asked
    )
    name = re.sub(r"[^\w.+-]", "_", PurePosixPath(unquote(parts.path)).name, flags=re.ASCII)[-120:]
    return f"{hashlib.sha256(address.encode()).hexdigest()[:16]}-{name or 'file'}"


def _asked(query: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The parameters of a query that say what is asked for, not who may ask."""
    query = [(key, value) for key, value in query if not _TOKEN.fullmatch(key)]
    if not any(_SIGNATURE.fullmatch(key) for key, _ in query):
        return query
    return [
        (key, value) for key, value in query if not (_SIGNATURE.fullmatch(key) or _SIGNED_WITH.fullmatch(key))
    ]


def shown(href: str) -> str:
    """An address as messages may show it: no user, no password, no query, which may hold a signature."""
    parts = urlsplit(href)
    if not parts.scheme:
        return href
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _on_disk(href: str, expected_bytes: int | None) -> Path:
    path = Path(unquote(urlsplit(href).path)) if href.lower().startswith("file:") else Path(href)
    try:
        size = path.stat().st_size
    except OSError as error:
        raise FetchFailed(
            f"{path}: {error.strerror}; the catalogue names it, so bring it there or search again"
        ) from None
    if not path.is_file():
        raise FetchFailed(f"{path}: is no file; the catalogue must name a file, search again")
    if size == 0:
        raise FetchFailed(f"{path}: is an empty file; get it again")
    if expected_bytes not in (None, size):
        raise FetchFailed(
            f"{path}: has {size} bytes, should have {expected_bytes}; get it again, or search again if it was replaced"
        )
    return path


def _whole(path: Path, expected_bytes: int | None) -> bool:
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return False
    return expected_bytes in (None, size)


def _bring(href: str, target: Path, expected_bytes: int | None, patience: Patience) -> None:
    part = target.with_name(f"{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _alone(part) as file:
            if _whole(target, expected_bytes):  # another process brought it while this one waited
                return
            _try(href, file, expected_bytes, patience)
            file.flush()
            os.fsync(file.fileno())
            part.replace(target)
    except FetchFailed:
        raise
    except OSError as error:
        raise FetchFailed(
            f"{part}: can not be written ({error.strerror}); make room, or choose another folder"
        ) from error


def _try(href: str, file: BinaryIO, expected_bytes: int | None, patience: Patience) -> None:
    for attempt in range(1, patience.attempts + 1):
        try:
            _download(href, file, expected_bytes, patience.stall)
            return
        except _Transient as error:
            if attempt == patience.attempts:
                raise FetchFailed(f"{shown(href)}: {error}, {attempt} times; try again later") from None
            time.sleep(patience.pause * 2 ** (attempt - 1))


@contextmanager
def _alone(part: Path) -> Iterator[BinaryIO]:
    """The file being filled, held by one process or thread at a time; a killed holder lets go of it."""
    file = part.open("ab")
    fcntl.flock(file, fcntl.LOCK_EX)
    while not _same_file(file, part):  # whoever held it finished or gave up, and the name is free
        file.close()
        file = part.open("ab")
        fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield file
    finally:
        if _same_file(file, part):
            part.unlink()
        file.close()


def _same_file(file: BinaryIO, path: Path) -> bool:
    """Whether `path` still names the open file (it does not once it was renamed to its final name)."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _download(href: str, file: BinaryIO, expected_bytes: int | None, stall: float) -> None:
    """Fill `file` from its beginning; whatever an earlier attempt left in it is thrown away."""
    file.seek(0)
    file.truncate()
    stream = _stream(href, stall)
    size, head = next(stream)
    file.write(head)
    file.writelines(chunk for _, chunk in stream)
    received = file.tell()
    if received != size:
        raise _Transient(f"the connection ended after {received} of {size} bytes")
    _check_content(href, head[: signature.HEAD])
    if expected_bytes not in (None, received):
        raise FetchFailed(
            f"{shown(href)}: came with {received} bytes, the catalogue says {expected_bytes}; search again"
        )


def _check_content(href: str, head: bytes) -> None:
    """Refuse what is no data: an error page under a raster's name, a pointer, nothing at all."""
    kind = signature.kind_of(head)
    ending = PurePosixPath(urlsplit(href).path).suffix.lower().removeprefix(".")
    never = kind in ("empty", "pointer") or (kind == "html" and ending not in ("html", "htm"))
    if never or (ending in RASTER_ENDINGS | {"zip"} and kind not in signature.RASTERS):
        raise FetchFailed(
            f"{shown(href)}: what came is {signature.words(kind)}; check the link, a login or an expired signature"
        )


def _stream(href: str, stall: float) -> Iterator[tuple[int, bytes]]:
    """(whole size, next bytes) of a remote file, at least once; the first bytes tell its kind."""
    import obstore

    try:
        store, path = _store(href, stall)
        answer = obstore.get(store, path)
        size = answer.meta["size"]
        chunks = iter(answer.stream(min_chunk_size=_CHUNK))
        yield size, bytes(next(chunks, b""))
        for chunk in chunks:
            yield size, bytes(chunk)
    except (OSError, ValueError, obstore.exceptions.BaseError) as error:
        raise _failure(href, error) from None


def _store(href: str, stall: float) -> tuple[ObjectStore, str]:
    """A store and the path in it. A web address is the whole base of its store: so its query is sent as it is."""
    from obstore.store import HTTPStore, from_url

    wait = dt.timedelta(seconds=stall)
    client: ClientConfig = {
        "allow_http": True,
        "timeout": "30days",
        "connect_timeout": wait,
        "read_timeout": wait,
    }
    once: RetryConfig = {"max_retries": 0}
    parts = urlsplit(href)
    if parts.scheme.lower() in ("http", "https"):
        return HTTPStore.from_url(href.partition("#")[0], client_options=client, retry_config=once), ""
    unsigned: dict[str, Any] = {} if _has_credentials(parts.scheme) else {"skip_signature": True}
    store = from_url(f"{parts.scheme}://{parts.netloc}", client_options=client, retry_config=once, **unsigned)
    return store, unquote(parts.path).lstrip("/")


def _has_credentials(scheme: str) -> bool:
    """Whether the environment holds credentials for a kind of bucket; public buckets are read unsigned without."""
    prefix = _BUCKETS[scheme.lower()]
    return any(
        key.startswith(f"{prefix}_")
        and re.search("KEY|TOKEN|CREDENTIAL|SERVICE_ACCOUNT|CLIENT|SKIP_SIGNATURE", key)
        for key in os.environ
    )


def _failure(href: str, error: Exception) -> Exception:
    """What a failed request means. The library's own text is never shown: it repeats the query."""
    text = str(error)
    status = re.search(r"status code: (\d{3})", text)
    code = int(status[1]) if status else 404 if isinstance(error, FileNotFoundError) else 0
    if code >= 500 or code in (408, 429):
        return _Transient(f"the server failed with status {code}")
    signs = f"{type(error).__name__} {code} {text}"
    lasting = next((meaning for sign, meaning in _LASTING.items() if re.search(sign, signs)), None)
    if lasting or code:
        reason = lasting or f"the server refused with status {code}; check the link"
        return FetchFailed(f"{shown(href)}: {reason}")
    late = re.search("TimedOut|[Tt]imed out|Timeout", text)
    return _Transient("no answer in time" if late else "the connection failed or broke")
