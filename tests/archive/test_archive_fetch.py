"""Fetching against a real HTTP server on this machine: whole files or none, and no secret in any message."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earthrecord.archive import fetch
from earthrecord.archive.fetch import Patience
from earthrecord.errors import FetchFailed

TIFF = b"II*\0" + bytes(range(256)) * 40_000  # 10 MB: more than one chunk
HTML = b"<!DOCTYPE html><html><body>Please log in</body></html>"
QUICK = Patience(attempts=3, pause=0.01, stall=0.5)

Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


class Server:
    """Answers each path with the next of its scripted answers (the last for ever) and remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.script: dict[str, list[Answer]] = {}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                answers = outer.script[self.path.partition("?")[0]]
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
                try:
                    answer(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                pass

        self._server = Quiet(("127.0.0.1", 0), Handler)
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def whole(body: bytes = TIFF) -> Answer:
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def status(code: int) -> Answer:
    return lambda handler: handler.send_error(code)


def cut(sent: bytes, said: int) -> Answer:
    """A body shorter than announced, then a closed connection."""

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(said))
        handler.end_headers()
        handler.wfile.write(sent)
        handler.close_connection = True

    return answer


def slow(pause: float, pieces: int = 4) -> Answer:
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        body = TIFF[:4000]
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        for index in range(pieces):
            time.sleep(pause)
            handler.wfile.write(body[index * 1000 : (index + 1) * 1000])

    return answer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Server()
    yield server
    server.close()


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_remote_file_comes_whole_and_only_once(server: Server, tmp_path: Path) -> None:
    server.script["/a/B4.TIF"] = [whole()]
    href = f"{server.url}/a/B4.TIF"
    first = fetch.local(href, tmp_path / "cache", len(TIFF), patience=QUICK)
    assert first.read_bytes() == TIFF
    assert first.name.endswith("-B4.TIF")
    assert fetch.local(href, tmp_path / "cache", len(TIFF), allow_network=False) == first
    assert server.asked == ["/a/B4.TIF"]
    assert files(tmp_path / "cache") == [first.name]


def test_odd_paths_and_queries_reach_the_server_as_written(server: Server, tmp_path: Path) -> None:
    server.script["/a%20b+c/x%2By.tif"] = [whole(TIFF[:500])]
    path = fetch.local(f"{server.url}/a%20b+c/x%2By.tif?sig=Ab%2Bc%3D&sv=2#part", tmp_path, patience=QUICK)
    assert server.asked == ["/a%20b+c/x%2By.tif?sig=Ab%2Bc%3D&sv=2"]
    assert path.read_bytes() == TIFF[:500]


@pytest.mark.parametrize("code", [500, 503, 429])
def test_a_failing_server_is_asked_again(server: Server, tmp_path: Path, code: int) -> None:
    server.script["/x.tif"] = [status(code), whole()]
    assert fetch.local(f"{server.url}/x.tif", tmp_path, patience=QUICK).read_bytes() == TIFF
    assert len(server.asked) == 2


def test_a_server_that_goes_on_failing_is_left_after_some_attempts(server: Server, tmp_path: Path) -> None:
    server.script["/x.tif"] = [status(502)]
    with pytest.raises(FetchFailed, match=r"/x\.tif: the server failed with status 502, 3 times"):
        fetch.local(f"{server.url}/x.tif", tmp_path, patience=QUICK)
    assert len(server.asked) == QUICK.attempts
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("code", "says"),
    [(404, "not there"), (410, "not there"), (401, "access denied"), (403, "access denied"), (400, "400")],
)
def test_what_will_not_pass_fails_once(server: Server, tmp_path: Path, code: int, says: str) -> None:
    server.script["/x.tif"] = [status(code)]
    with pytest.raises(FetchFailed, match=says):
        fetch.local(f"{server.url}/x.tif", tmp_path, patience=QUICK)
    assert len(server.asked) == 1
    assert files(tmp_path) == []


def test_a_cut_body_is_fetched_again_and_never_stands_under_the_final_name(
    server: Server, tmp_path: Path
) -> None:
    server.script["/x.tif"] = [cut(TIFF[:3000], len(TIFF)), whole()]
    assert fetch.local(f"{server.url}/x.tif", tmp_path, patience=QUICK).read_bytes() == TIFF
    server.script["/y.tif"] = [cut(TIFF[:3000], len(TIFF))]
    with pytest.raises(FetchFailed, match="3 times"):
        fetch.local(f"{server.url}/y.tif", tmp_path, patience=QUICK)
    assert [name for name in files(tmp_path) if "y.tif" in name] == []


def test_a_slow_server_is_waited_for_and_a_stalled_one_is_not(server: Server, tmp_path: Path) -> None:
    server.script["/slow.tif"] = [
        slow(0.2)
    ]  # longer in all than the stall limit, never without a byte for so long
    assert fetch.local(f"{server.url}/slow.tif", tmp_path, patience=QUICK).stat().st_size == 4000
    server.script["/stalled.tif"] = [slow(0.8, pieces=1)]
    with pytest.raises(FetchFailed, match="in time, 2 times"):
        fetch.local(
            f"{server.url}/stalled.tif", tmp_path, patience=Patience(attempts=2, pause=0.01, stall=0.2)
        )


@pytest.mark.parametrize(
    ("name", "body", "says"),
    [
        ("scene.TIF", HTML, "web page"),
        ("granule.hdf", b'{"error": "login"}', "JSON"),
        ("granule.h5", b"<?xml version='1.0'?><Error/>", "XML"),
        ("dem.tif", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "LFS pointer"),
        ("download", HTML, "web page"),
        ("x.tif", b"", "empty"),
        ("x.tif", b"No such key\n", "text"),
    ],
)
def test_an_error_page_under_a_good_name_is_refused(
    server: Server, tmp_path: Path, name: str, body: bytes, says: str
) -> None:
    server.script[f"/{name}"] = [whole(body)]
    with pytest.raises(FetchFailed, match=says):
        fetch.local(f"{server.url}/{name}", tmp_path, patience=QUICK)
    assert len(server.asked) == 1
    assert files(tmp_path) == []


def test_metadata_is_no_error_page(server: Server, tmp_path: Path) -> None:
    server.script["/MTL.json"] = [whole(b'{"LANDSAT_METADATA_FILE": {}}')]
    assert fetch.local(f"{server.url}/MTL.json", tmp_path, patience=QUICK).read_bytes().startswith(b"{")


def test_another_size_than_the_catalogue_says_is_refused(server: Server, tmp_path: Path) -> None:
    server.script["/x.tif"] = [whole(TIFF[:500])]
    with pytest.raises(FetchFailed, match="500 bytes, the catalogue says 501"):
        fetch.local(f"{server.url}/x.tif", tmp_path, 501, patience=QUICK)
    assert files(tmp_path) == []


def test_a_cached_file_of_another_size_is_fetched_anew(server: Server, tmp_path: Path) -> None:
    href = f"{server.url}/x.tif"
    (tmp_path / fetch.cache_name(href)).write_bytes(b"old")
    server.script["/x.tif"] = [whole()]
    assert fetch.local(href, tmp_path, len(TIFF), patience=QUICK).read_bytes() == TIFF


def test_what_a_killed_download_left_does_not_matter(server: Server, tmp_path: Path) -> None:
    href = f"{server.url}/x.tif"
    (tmp_path / f"{fetch.cache_name(href)}.part").write_bytes(b"half a file of another day" * 9)
    server.script["/x.tif"] = [whole()]
    path = fetch.local(href, tmp_path, patience=QUICK)
    assert path.read_bytes() == TIFF
    assert files(tmp_path) == [path.name]


def test_many_at_once_fetch_a_file_once(server: Server, tmp_path: Path) -> None:
    server.script["/x.tif"] = [whole()]
    with ThreadPoolExecutor(8) as pool:
        paths = list(
            pool.map(lambda _: fetch.local(f"{server.url}/x.tif", tmp_path, patience=QUICK), range(16))
        )
    assert set(paths) == {paths[0]}
    assert paths[0].read_bytes() == TIFF
    assert len(server.asked) == 1
    assert files(tmp_path) == [paths[0].name]


def test_a_killed_download_leaves_nothing_under_the_final_name(server: Server, tmp_path: Path) -> None:
    href = f"{server.url}/x.tif"
    server.script["/x.tif"] = [slow(0.3, pieces=4), whole()]
    code = "import sys; from pathlib import Path; from earthrecord.archive import fetch; fetch.local(sys.argv[1], Path(sys.argv[2]))"
    with subprocess.Popen([sys.executable, "-c", code, href, str(tmp_path)]) as process:
        deadline = time.monotonic() + 20
        while not server.asked and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.4)  # in the middle of the body
        process.kill()
    assert server.asked
    assert [name for name in files(tmp_path) if not name.endswith(".part")] == []
    assert fetch.local(href, tmp_path, patience=QUICK).read_bytes() == TIFF


def test_a_public_bucket_is_read_without_a_signature(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in [key for key in os.environ if key.startswith("AWS_")]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    server.script["/bucket/a%20b/x.tif"] = [whole(TIFF[:500])]
    assert fetch.local("s3://bucket/a%20b/x.tif", tmp_path, patience=QUICK).read_bytes() == TIFF[:500]
    server.script["/bucket/gone.tif"] = [status(404)]
    with pytest.raises(FetchFailed, match=r"s3://bucket/gone\.tif: is not there"):
        fetch.local("s3://bucket/gone.tif", tmp_path, patience=QUICK)


def test_no_secret_enters_a_name_or_a_message(server: Server, tmp_path: Path) -> None:
    server.script["/x.tif"] = [status(403)]
    href = f"{server.url.replace('//', '//user:pa55word@')}/x.tif?X-Amz-Signature=s3cret&token=t0ken"
    with pytest.raises(FetchFailed) as failed:
        fetch.local(href, tmp_path, patience=QUICK)
    told = f"{failed.value} {failed.value.__cause__} {fetch.cache_name(href)}"
    assert not any(secret in told for secret in ("pa55word", "s3cret", "t0ken"))
    assert "/x.tif" in told


def test_a_server_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(FetchFailed, match="connection failed or broke, 3 times"):
        fetch.local("http://127.0.0.1:9/x.tif", tmp_path, patience=QUICK)


def test_offline_says_so(tmp_path: Path) -> None:
    with pytest.raises(
        FetchFailed, match=r"https://host/x\.tif: not in the cache .* network is switched off"
    ):
        fetch.local("https://host/x.tif?sig=abc", tmp_path, allow_network=False)


def test_unknown_schemes_are_named(tmp_path: Path) -> None:
    with pytest.raises(FetchFailed, match="'ftp'"):
        fetch.local("ftp://host/x.tif", tmp_path)


def test_paths_and_file_urls_are_themselves(tmp_path: Path) -> None:
    path = tmp_path / "a b#1.tif"
    path.write_bytes(TIFF[:100])
    assert fetch.local(str(path), tmp_path / "cache") == path
    assert fetch.local(path.as_uri(), tmp_path / "cache", 100) == path
    assert not (tmp_path / "cache").exists()


def test_a_path_that_is_no_whole_file(tmp_path: Path) -> None:
    with pytest.raises(FetchFailed, match=r"gone\.tif: No such file"):
        fetch.local(str(tmp_path / "gone.tif"), tmp_path)
    with pytest.raises(FetchFailed, match="is no file"):
        fetch.local(str(tmp_path), tmp_path)
    (tmp_path / "zero.tif").touch()
    with pytest.raises(FetchFailed, match="is an empty file; get it again"):
        fetch.local(str(tmp_path / "zero.tif"), tmp_path)
    (tmp_path / "x.tif").write_bytes(b"II*\0")
    with pytest.raises(FetchFailed, match="has 4 bytes, should have 5"):
        fetch.local(str(tmp_path / "x.tif"), tmp_path, 5)


def test_links_signed_anew_are_one_file_and_other_questions_are_others() -> None:
    signed = "https://h/c/x.tif?st=2026-01-01&se=2026-01-02&sp=rl&sv=2024&sr=c&skoid=1&sig={}"
    assert fetch.cache_name(signed.format("abc")) == fetch.cache_name(signed.format("xyz"))
    assert fetch.cache_name(signed.format("abc")) == fetch.cache_name("https://H/c/x.tif")
    assert fetch.cache_name("https://h/get?id=1&st=a") != fetch.cache_name("https://h/get?id=1&st=b")
    assert fetch.cache_name("https://h/get?id=1&access_token=a") == fetch.cache_name(
        "https://h/get?id=1&access_token=b"
    )
    assert fetch.cache_name("https://h/x.tif") != fetch.cache_name("https://h/y/x.tif")


@settings(deadline=None)
@given(st.text(max_size=300))
def test_every_cache_name_is_one_safe_path_part(path: str) -> None:
    name = fetch.cache_name("https://host/" + path.replace("[", "").replace("]", ""))
    assert name == Path(name).name
    assert len(name.encode()) < 250
    assert name[:16] == name[:16].lower()
    assert int(name[:16], 16) >= 0
