"""``tracelake.fetch`` from a web server on loopback."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import tracelake

DESCRIPTION = """
family = "garden"
[[trace]]
name = "garden-1"
[[trace.location]]
url = "http://127.0.0.1:{port}"
doc = "All files."
[[table]]
name = "plants"
parts = 2
[table.columns]
plant = "integer"
[[table]]
name = "letters"
parts = 1
[table.columns]
letter = "text"
[[trace.location]]
url = "https://example.org/letters"
doc = "A form."
tables = ["letters"]
not_fetched = "There is a form to fill in."
"""


class Handler(SimpleHTTPRequestHandler):
    """Without lines on stderr."""

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def description(tmp_path: Path) -> Iterator[Path]:
    """A description whose files are at a server."""
    served = tmp_path / "served" / "plants"
    served.mkdir(parents=True)
    sums = ""
    for part in range(2):
        file = served / f"part-0000{part}-of-00002.csv.gz"
        file.write_bytes(gzip.compress(f"{part}\n".encode()))
        sums += f"{hashlib.sha256(file.read_bytes()).hexdigest()}  plants/{file.name}\n"
    (tmp_path / "served" / "SHA256SUM").write_text(sums)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path / "served")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    path = tmp_path / "garden.toml"
    path.write_text(DESCRIPTION.format(port=server.server_port))
    yield path
    server.shutdown()


def test_a_trace_is_fetched_and_converted(description: Path, tmp_path: Path) -> None:
    events: list[tracelake.Event] = []
    download = tmp_path / "download"
    found = tracelake.fetch(str(description), download, progress=events.append)
    assert (found.trace, found.fetched, found.kept, found.by_digest) == ("garden-1", 2, 0, 2)
    assert found.bytes == sum(file.stat().st_size for file in download.rglob("*.gz"))
    assert found.warnings == ("letters is left out: There is a form to fill in.",)
    assert "2" in repr(found) and str(download.name) in found._repr_html_()
    paths = [event.path for event in events if event.kind == "fetched"]
    assert sorted(filter(None, paths)) == [f"plants/part-0000{part}-of-00002.csv.gz" for part in range(2)]
    again = tracelake.fetch(str(description), download, tables=["plants"], parts=1)
    assert (again.fetched, again.kept) == (0, 1)
    lake = tracelake.convert(download, tmp_path / "lake", trace=str(description))
    assert lake["plants"].rows == 2


def test_what_cant_be_fetched_is_an_error(description: Path, tmp_path: Path) -> None:
    with pytest.raises(tracelake.FailedError, match="letters can't be fetched: There is a form to fill in"):
        tracelake.fetch(str(description), tmp_path / "download", tables="letters")
    with pytest.raises(tracelake.UsageError, match="has no table 'rocks'"):
        tracelake.fetch(str(description), tmp_path / "download", tables="rocks")
    (tmp_path / "served" / "plants" / "part-00001-of-00002.csv.gz").write_bytes(b"something else")
    with pytest.raises(tracelake.CorruptInputError, match="and the published one"):
        tracelake.fetch(str(description), tmp_path / "download", tables="plants")
