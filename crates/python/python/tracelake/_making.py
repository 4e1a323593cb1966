"""Functions that make, check and publish lakes, as the program's commands do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from . import _lake, _options, _results, _tracelake
from ._errors import UsageError
from ._lake import Lake
from ._options import path as path_of
from ._options import switch, takes_convert_options, text, thread_count
from ._paths import StrPath
from ._progress import Progress, Watcher
from ._results import Fetched, Generated, Inventory, Release, Verification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._convert_options import ConvertOptions


def fetch(
    trace: str,
    dir: StrPath,
    *,
    tables: str | Iterable[str] | None = None,
    parts: str | int | Iterable[int] | None = None,
    cell: str | None = None,
    source_form: Literal["json", "parquet"] = "json",
    progress: Progress = None,
) -> Fetched:
    """Downloads the published files of a trace into a directory, checked, or resumes where an earlier call stopped.

    ``trace`` is a name, or the path of a description that says where its files are. The keyword arguments are the
    options of ``tracelake fetch``; those of :func:`convert` have the same forms.

    >>> tracelake.fetch("google-2011-v2.1", "download", tables="task_usage", parts="0-9")  # doctest: +SKIP
    """
    name, place = text("trace", trace), path_of("dir", dir)
    options = {"tables": tables, "parts": parts, "cell": cell, "source_form": source_form}
    arguments = _options.convert_arguments(options)
    with Watcher(progress) as watch:
        done = _tracelake.fetch([*arguments, "--", name, place], watch)
    return _results.fetched(place, done, watch.warnings)


@takes_convert_options()
def convert(
    src: StrPath, out: StrPath, *, progress: Progress = None, **options: Unpack[ConvertOptions]
) -> Lake:
    """Converts a downloaded trace into a lake, or resumes where an earlier run stopped.

    The keyword arguments are the options of ``tracelake convert``, which ``tracelake convert --help`` explains.
    ``tables`` and ``derive`` take a name or several, ``parts`` a text such as ``"0-9,17"``, a number or several,
    ``memory`` a size such as ``"2GiB"`` or a number of bytes.

    ``progress`` is ``"auto"``, ``"bar"``, ``"text"`` or a function of an :class:`Event`. Ctrl-C
    stops within a second; run the same call again to resume.

    >>> events = []
    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> lake = tracelake.convert("trace", "lake", tables="job_events", progress=events.append)
    >>> [table.name for table in lake.tables]
    ['job_events']
    >>> sorted({event.kind for event in events})
    ['begun', 'finished', 'read', 'started']
    """
    source, place = path_of("src", src), path_of("out", out)
    arguments = _options.convert_arguments(options)
    with Watcher(progress) as watch:
        made = _tracelake.convert([*arguments, "--", source, place], watch)
    return _lake.lake(place, made, watch.warnings)


def cluster(
    lake: StrPath,
    out: StrPath,
    *,
    by: str | None = None,
    compact: bool = False,
    tables: str | Iterable[str] | None = None,
    files: int | None = None,
    file_size: str | int | None = None,
    overwrite: bool = False,
    memory: str | int | None = None,
    spill: StrPath | None = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Lake:
    """Makes a lake of the same rows in which those of one entity are together, or whose files have equal sizes.

    ``by`` is a sample key, such as ``"job"``; ``compact=True`` keeps the order of the rows instead. ``tracelake cluster
    --help`` explains the other options. The same call resumes a run that was stopped.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> lake = tracelake.convert("trace", "lake")
    >>> by_job = tracelake.cluster("lake", "by-job", by="job", files=2)
    >>> by_job.rows == lake.rows, len(by_job["task_usage"].files)
    (True, 2)
    """
    source, place = path_of("lake", lake), path_of("out", out)
    options = {
        "by": by, "compact": compact, "tables": tables, "files": files, "file_size": file_size, "overwrite": overwrite,
        "memory": memory, "spill": spill, "threads": threads,
    }  # fmt: skip
    arguments = _options.cluster_arguments(options)
    with Watcher(progress) as watch:
        made = _tracelake.cluster([*arguments, "--", source, place], watch)
    return _lake.lake(place, made, watch.warnings)


def verify(
    lake: StrPath,
    source: StrPath | None = None,
    *,
    digest: str | None = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Verification:
    """Checks a lake: files, footers, counts, digests, and every value against ``source`` if given.

    ``digest`` is that of the lake it has to be, as :func:`inspect` has it: the SHA-256 of its manifest.

    What is wrong is in :attr:`Verification.findings`; nothing is raised for it.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> lake = tracelake.convert("trace", "lake")
    >>> tracelake.verify("lake", source="trace").findings
    ()
    """
    path, number = path_of("lake", lake), thread_count(threads)
    other = None if source is None else path_of("source", source)
    expected = _options.optional_text("digest", digest)
    with Watcher(progress) as watch:
        found = _tracelake.verify_lake(path, other, expected, number, watch)
    return _results.verification(found)


def inspect(path: StrPath, trace: str | None = None) -> Inventory:
    """Lists the contents of a lake or of a source: tables, parts, rows, bytes, time range.

    ``trace`` is the name of the source's trace, or the path of its description; by default it is recognised.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> tracelake.inspect("trace").what
    'source'
    """
    return _results.inventory(_tracelake.inspect_path(path_of("path", path), _options.optional_text("trace", trace)))


def release(
    lake: StrPath,
    *,
    allow_missing: bool = False,
    allow_rejects: bool = False,
    date: str | None = None,
    delta: bool = False,
    since: StrPath | None = None,
    threads: int | None = None,
) -> Release:
    """Verifies a lake and writes what it needs to be published.

    Raises the first finding where something is wrong, and writes nothing then. ``date`` is the day of the release, as
    ``"2026-06-01"``; by default, it is that of the trace's document, if it is known. ``delta`` adds a Delta log to each
    table. ``since`` is an older lake of the same trace, or its manifest; ``changes`` of the result says what changed since.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> lake = tracelake.convert("trace", "lake")
    >>> tracelake.release("lake", allow_missing=True).files
    ('README.md', 'croissant.json', 'datapackage.json', '_tracelake/release.toml', '.zenodo.json', 'SHA256SUMS')
    """
    path = path_of("lake", lake)
    allowed = switch("allow_missing", allow_missing), switch("allow_rejects", allow_rejects)
    switches = (*allowed, switch("delta", delta))
    day = _options.optional_text("date", date)
    old = None if since is None else path_of("since", since)
    with Watcher(None) as watch:
        found = _tracelake.release_lake(path, switches, day, old, thread_count(threads), watch)
    return _results.release(path, found, watch.warnings)


def generate(
    trace: str,
    out: StrPath,
    *,
    parts: int = 2,
    rows: int = 100_000,
    seed: int = 1,
    form: Literal["json", "parquet"] = "json",
    progress: Progress = None,
) -> Generated:
    """Makes a synthetic trace in the published format; the same seed gives the same bytes.

    ``form="parquet"`` writes the tables that are also published as Parquet so, with the same rows.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", parts=1, rows=2000)
    >>> max(table.rows for table in made.tables)
    2000
    """
    name, path = text("trace", trace), path_of("out", out)
    numbers = (
        _options.number_within("parts", parts, 1, 99_999),
        _options.number_within("rows", rows, 1, 2**63 - 1),
        _options.number_within("seed", seed, 0, 2**64 - 1),
    )
    if text("form", form) not in ("json", "parquet"):
        raise UsageError(f"form: expected 'json' or 'parquet', not {form!r}")
    with Watcher(progress) as watch:
        made = _tracelake.generate(name, path, numbers, form, watch)
    return _results.generated(path, made)
