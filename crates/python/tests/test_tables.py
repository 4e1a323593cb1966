"""A lake is a mapping of tables, and a table has the same columns and rows in every engine."""

from __future__ import annotations

import copy
import datetime
import os
import pickle
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import tracelake
from conftest import SIMULATED
from lakes import copy_of, edit

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")
duckdb = pytest.importorskip("duckdb")

import pyarrow.compute as pc  # noqa: E402
import pyarrow.dataset as ds  # noqa: E402

MOST = 2**63 - 1


def rows_of(table: Any) -> list[tuple[object, ...]]:
    """The rows of an Arrow table, in an order that depends on nothing but themselves."""
    # Python has no dates after the year 9999.
    columns = [one.cast(pa.int64()) if pa.types.is_timestamp(one.type) else one for one in table.columns]
    return sorted(zip(*(column.to_pylist() for column in columns), strict=True), key=repr)


def types_of(table: Any) -> list[tuple[str, object]]:
    """The columns of an Arrow table with their types, whatever strings and lists they are kept in."""

    def plain(kind: Any) -> str:
        return str(kind).replace("large_", "").replace("string_view", "string").replace("element: ", "item: ").replace("<l: ", "<item: ").replace(" not null", "").replace("child 0, ", "").replace("Etc/UTC", "UTC")

    return [(field.name, plain(field.type)) for field in table.schema]


def in_engines(table: tracelake.Table, **asked: Any) -> dict[str, Any]:
    """The rows that each engine reads, as an Arrow table."""
    frame = table.to_pandas(**asked)
    return {
        "polars": table.to_polars(**asked).to_arrow(),
        "scan": table.scan(**asked).collect().to_arrow(),
        "pyarrow": table.to_arrow(**asked),
        "dataset": table.dataset(**asked).to_table(),
        "pandas": pa.Table.from_pandas(frame, preserve_index=False),
    }


def assert_equal(table: tracelake.Table, connection: Any, sql: str, **asked: Any) -> Any:
    """Compares all engines with a query of DuckDB, whose rows it returns."""
    wanted = connection.sql(sql).to_arrow_table()
    for engine, found in in_engines(table, **asked).items():
        assert types_of(found) == types_of(wanted), engine
        assert rows_of(found) == rows_of(wanted), engine
    return wanted


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], tracelake.Lake]:
    """A lake of each trace in each layout and format."""
    made = {}
    root = tmp_path_factory.mktemp("lakes")
    for trace in SIMULATED:
        cells = tracelake.schema(trace).cells
        sources = [root / trace / f"clusterdata_2019_{cell}" for cell in cells[:2]] or [root / trace / "source"]
        for seed, source in enumerate(sources):
            tracelake.generate(trace, source, parts=2, rows=100, seed=seed)
        for layout in ("hive", "flat"):
            for kind in ("parquet", "arrow"):
                place = root / f"{trace}-{layout}-{kind}"
                source = root / trace if cells else sources[0]
                made[trace, layout, kind] = tracelake.convert(source, place, layout=layout, format=kind)  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize("trace", SIMULATED)
@pytest.mark.parametrize("layout", ["hive", "flat"])
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_every_engine_shows_what_the_views_show(lakes: Any, trace: str, layout: str, kind: str) -> None:
    lake = lakes[trace, layout, kind]
    connection = lake.duckdb()
    for name, table in lake.items():
        assert table.name == name
        # A trace that is published by cell has a table without; only there, the view has a column more.
        without = "" if "cell" in table.partitions or not lake.cells else " EXCLUDE (cell)"
        without = without if "cell" in connection.sql(f"FROM {name}").columns else ""
        plain = assert_equal(table, connection, f"SELECT *{without} FROM {name}")
        assert plain.num_rows == table.rows
        assert plain.schema.field("file_number").type == pa.int32()
        named = assert_equal(table, connection, f"SELECT *{without} FROM {name}_named", named=True)
        assert named.num_rows == table.rows


@pytest.fixture(scope="module")
def odd(lake: tracelake.Lake, tmp_path_factory: pytest.TempPathFactory) -> tracelake.Lake:
    """A lake with rare values: unknown codes, times at the ends, texts that are hardly integers."""
    place = copy_of(Path(lake.path), tmp_path_factory.mktemp("odd"))
    epoch = tracelake.schema(lake.trace)["job_events"].epoch
    assert epoch is not None
    times = [0, MOST, MOST - 1, MOST - epoch * 1_000_000 - 1, -1, 1, 2_500_000, 2**53 + 1]
    codes = [0, 8, 9, -1, None, 2**31 - 1, -(2**31), 3]

    def events(rows: list[dict[str, Any]]) -> None:
        for row, time, code in zip(rows, times, codes):
            row.update(time=time, event_type=1 if code is None else code, missing_info=code, scheduling_class=code)

    texts = ["007", "-0", "-007", str(MOST), str(MOST + 1), str(-MOST - 1), str(-MOST - 2), "12x", "", "0" * 30 + "5", None]
    texts += ["5\n", " 5", "+5", "-", "٣"]

    def attributes(rows: list[dict[str, Any]]) -> None:
        for row, text in zip(rows, texts):
            row["attribute_value"] = text

    edit(place, "job_events", 0, events)
    edit(place, "machine_attributes", 0, attributes)
    return tracelake.open(place)


def test_rare_values_are_the_same_in_every_engine(odd: tracelake.Lake) -> None:
    connection = odd.duckdb()
    for table in ("job_events", "machine_attributes"):
        found = assert_equal(odd[table], connection, f"SELECT * FROM {table}_named", named=True)
        if table == "job_events":
            assert found["time_timestamp"].null_count >= 3
            assert {"9", "-1", "-2147483648"} <= set(found["event_type"].to_pylist())
        else:
            assert {7, -7, 5, 0, MOST, -MOST - 1} <= set(found["attribute_value_integer"].to_pylist())


#: Filters, and what they are in SQL.
FILTERS: list[tuple[Any, str]] = [
    ([("event_type", "==", 4)], "event_type = 4"),
    (("event_type", "=", 4), "event_type = 4"),
    ([("event_type", "!=", 4), ("file_number", ">", 0)], "event_type != 4 AND file_number > 0"),
    ([["event_type", "==", 4]], None),
    ([[("event_type", "==", 4)], [("priority", ">=", 9), ("file_number", "<=", 0)]], "event_type = 4 OR priority >= 9 AND file_number <= 0"),
    ([("machine_id", "==", None)], "machine_id IS NULL"),
    ([("machine_id", "!=", None), ("time", "<", 10**10)], "machine_id IS NOT NULL AND time < 10000000000"),
    ([("machine_id", "!=", 3)], "machine_id != 3"),
    ([("file_number", "in", [1])], "file_number IN (1)"),
    ([("missing_info", "not in", (0, 1))], "missing_info NOT IN (0, 1)"),
    ([("missing_info", "in", [])], "false"),
    ([("missing_info", "not in", [])], "missing_info IS NOT NULL"),
    ([("cpu_request", ">", 0)], "cpu_request > 0"),
    ([("cpu_request", "in", {0.5, 0.25})], "cpu_request IN (0.5, 0.25)"),
    ([("user", "<=", "M")], "user <= 'M'"),
    ([("different_machines_restriction", "==", True)], "different_machines_restriction"),
    ([], "true"),
]


@pytest.mark.parametrize(("filter", "sql"), FILTERS)
@pytest.mark.parametrize("layout", ["hive", "flat"])
def test_a_filter_means_the_same_everywhere(source: Path, lake: tracelake.Lake, layout: str, filter: Any, sql: str | None) -> None:
    other = lake if layout == "hive" else tracelake.convert(source, "flat", layout="flat", tables="task_events")
    table, connection = other["task_events"], other.duckdb()
    if sql is None:
        with pytest.raises(tracelake.WrongTypeError, match="filter"):
            table.scan(filter=filter)
        return
    found = assert_equal(table, connection, f"SELECT * FROM task_events WHERE {sql}", filter=filter)
    assert sql in ("false", "true") or 0 < found.num_rows <= table.rows
    columns = ["user", "file_number"]
    assert_equal(table, connection, f"SELECT {', '.join(columns)} FROM task_events WHERE {sql}", filter=filter, columns=columns)


def test_a_filter_of_named_columns(lake: tracelake.Lake) -> None:
    table, connection = lake["task_events"], lake.duckdb()
    later = datetime.datetime(2011, 5, 2)
    for given, sql in [
        ([("event_type", "==", "KILL")], "event_type = 'KILL'"),
        ([("event_type", "in", ["EVICT", "FAIL"]), ("file_number", "==", 1)], "event_type IN ('EVICT', 'FAIL') AND file_number = 1"),
        ([("time_timestamp", ">=", later)], "time_timestamp >= TIMESTAMP '2011-05-02'"),
        ([("time_timestamp", ">=", later.replace(tzinfo=datetime.timezone.utc))], "time_timestamp >= TIMESTAMP '2011-05-02'"),
        ([("time_seconds", "==", None)], "time_seconds IS NULL"),
        ([("time_seconds", "<", 700)], "time_seconds < 700"),
    ]:
        found = assert_equal(table, connection, f"SELECT * FROM task_events_named WHERE {sql}", filter=given, named=True)
        assert 0 < found.num_rows < table.rows, sql
    few = ["event_type", "time_timestamp"]
    sql = "SELECT event_type, time_timestamp FROM task_events_named WHERE priority > 8"
    assert_equal(table, connection, sql, columns=few, filter=[("priority", ">", 8)], named=True)


def test_a_filter_may_be_an_expression_of_the_engine(lake: tracelake.Lake) -> None:
    table = lake["task_events"]
    wanted = table.to_polars(filter=[("event_type", "==", 4), ("file_number", "==", 1)]).height
    assert wanted > 0
    here = (pl.col("event_type") == 4) & (pl.col("file_number") == 1)
    there = (pc.field("event_type") == 4) & (pc.field("file_number") == 1)
    assert table.to_polars(filter=here).height == table.scan(filter=here).collect().height == wanted
    assert table.head(10**6, filter=here).height == wanted
    assert table.to_arrow(filter=there).num_rows == len(table.to_pandas(filter=there)) == wanted
    assert table.dataset(filter=there).count_rows() == wanted
    assert table.to_polars(filter=pl.col("event_type") == "EVICT", named=True).height > 0
    for wrong in (lambda: table.scan(filter=there), lambda: table.to_arrow(filter=here), lambda: table.to_pandas(filter="event_type = 4")):
        with pytest.raises(tracelake.WrongTypeError, match="filter: expected a list of tuples"):
            wrong()
    with pytest.raises(tracelake.UsageError, match="plain columns"):
        table.to_arrow(filter=there, named=True)


@pytest.mark.parametrize(
    ("asked", "kind", "says"),
    [
        ({"columns": ["tim"]}, KeyError, "has no column 'tim'; it has time, missing_info"),
        ({"columns": ["time_timestamp"]}, KeyError, "has no column 'time_timestamp'"),
        ({"columns": []}, ValueError, "one or several"),
        ({"columns": ["time", "time"]}, ValueError, "each once"),
        ({"columns": 5}, TypeError, "columns: expected one or several, not int"),
        ({"columns": [5]}, TypeError, "columns: expected a str, not int"),
        ({"filter": [("tim", "==", 1)]}, KeyError, "there is no column 'tim'"),
        ({"filter": [("time", "~", 1)]}, ValueError, "no operator '~'; there are =, =="),
        ({"filter": [("event_type", "==", "EVICT")]}, TypeError, "event_type is an integer; pass named=True, or use 2$"),
        ({"filter": [("event_type", "==", "EVICTS")]}, TypeError, "event_type is an integer; pass named=True, or use one of 0, 1,"),
        ({"filter": [("event_type", "==", "EVICTS")], "named": True}, KeyError, "event_type is never 'EVICTS'.* did you mean 'EVICT'"),
        ({"filter": [("event_type", "in", ["EVICT", "x"])], "named": True}, KeyError, "event_type is never 'x'"),
        ({"columns": ["tim"]}, KeyError, "did you mean 'time'"),
        ({"filter": [("time", "==", "1")]}, TypeError, "time has values of type int, and '1' is none"),
        ({"filter": [("time", "==", True)]}, TypeError, "True is none"),
        ({"filter": [("time", "==", 1.5)]}, TypeError, "1.5 is none"),
        ({"filter": [("time", "<", 2**63)]}, ValueError, "64 bits"),
        ({"filter": [("time", "<", None)]}, ValueError, "only == and != take None"),
        ({"filter": [("time", "in", "12")]}, TypeError, "time in: expected a list"),
        ({"filter": [("event_type", "==", 4)], "named": True}, TypeError, "a code is its name, such as 'SUBMIT'"),
        ({"filter": [("time", "==")]}, TypeError, "filter"),
        ({"filter": 5}, TypeError, "filter: expected a list of tuples"),
        ({"named": "no"}, TypeError, "named: expected True or False, not str"),
        ({"named": 1}, TypeError, "named"),
    ],
)
def test_what_can_not_be_asked(lake: tracelake.Lake, asked: dict[str, Any], kind: type[Exception], says: str) -> None:
    table = lake["job_events"]
    for ask in (table.scan, table.to_polars, table.to_arrow, table.to_pandas, table.dataset, table.head):
        with pytest.raises(tracelake.TracelakeError) as caught:
            ask(**asked)
        assert isinstance(caught.value, kind) and re.search(says, str(caught.value)), caught.value
        assert caught.value.exit_code == 2


def test_numbers_of_numpy_are_numbers(lake: tracelake.Lake) -> None:
    numpy = pytest.importorskip("numpy")
    table = lake["task_events"]
    for value in (numpy.int64(4), numpy.int32(4)):
        assert table.to_polars(filter=[("event_type", "==", value)]).height > 0
    assert table.to_arrow(filter=[("event_type", "in", numpy.array([4, 5]))]).num_rows > 0


def test_the_first_rows(lake: tracelake.Lake) -> None:
    table = lake["task_events"]
    everything = table.to_polars()
    assert table.head().equals(everything.head(5)) and table.head(0).height == 0
    assert table.head(7, columns="job_id").equals(everything.select("job_id").head(7))
    assert table.head(10**6).equals(everything)
    for wrong in (-1, "5", True):
        with pytest.raises(tracelake.TracelakeError, match="^n: "):
            table.head(wrong)  # type: ignore[arg-type]


def test_a_table_is_arrow_data(lake: tracelake.Lake) -> None:
    table = lake["job_events"]
    assert pa.table(table).equals(table.to_arrow())
    assert pl.DataFrame(table).height == duckdb.from_arrow(pa.RecordBatchReader.from_stream(table)).fetchall().__len__() == table.rows


def test_exact_integers_in_pandas(odd: tracelake.Lake) -> None:
    frame = odd["job_events"].to_pandas()
    assert frame["time"].max() == MOST and frame["missing_info"].isna().any()
    assert str(frame["missing_info"].dtype) == "int32[pyarrow]"


def test_a_dataset_is_that_of_pyarrow(lake: tracelake.Lake) -> None:
    table = lake["task_events"]
    data = table.dataset()
    assert isinstance(data, ds.Dataset) and data.count_rows() == table.rows
    assert sorted(data.files) == sorted(table.files)
    assert [fragment.path for fragment in data.get_fragments(ds.field("file_number") == 0)] == table.files[:1]
    assert data.filter(ds.field("file_number") == 0).count_rows() == table.parts[0].rows_out
    assert isinstance(table.dataset(named=True), ds.Scanner)
    assert duckdb.sql("SELECT count(*) FROM data WHERE file_number = 0").fetchall() == [(table.parts[0].rows_out,)]


def test_a_lake_is_a_mapping(lake: tracelake.Lake) -> None:
    names = [table.name for table in lake.tables]
    assert list(lake) == list(lake.keys()) == names and len(lake) == len(names)
    assert "job_events" in lake and "nosuch" not in lake and 0 not in lake
    assert dict(lake)["job_events"] is lake["job_events"] is lake.get("job_events")
    assert lake.get("nosuch") is None
    with pytest.raises(KeyError, match="has no table 'nosuch'; it has job_events") as caught:
        lake["nosuch"]
    assert isinstance(caught.value, tracelake.TracelakeError) and "\\" not in str(caught.value)
    assert lake._ipython_key_completions_() == names


def test_schemas_are_mappings() -> None:
    for name in tracelake.traces():
        trace = tracelake.schema(name)
        assert list(trace) == [table.name for table in trace.tables] and len(trace) == len(trace.tables)
        assert hash(trace) == hash(tracelake.schema(name)) and trace == tracelake.schema(name)
        for name_of, table in trace.items():
            assert name_of in trace and table.name == name_of
            assert list(table) == [column.name for column in table.columns] and len(table) == len(table.columns)
            assert all(column in table and table[column].name == column for column in table)
            assert len({table, tracelake.schema(name, name_of)}) == 1
            assert len(set(table.columns)) == len(table)
            with pytest.raises(KeyError, match="has no column 'nosuch'"):
                table["nosuch"]
        with pytest.raises(tracelake.UnknownNameError):
            trace["nosuch"]
    assert tracelake.schema("google-2011-v2") != tracelake.schema("google-2011-v2.1")


def test_equality_and_hash_are_by_location(source: Path, tmp_path: Path) -> None:
    lake = tracelake.convert(source, "lake", tables=["job_events", "machine_events"])
    shutil.copytree("lake", "copy")
    same, other = tracelake.open(tmp_path / "lake"), tracelake.open("copy")
    assert lake == same and lake != other and hash(lake) == hash(same) and lake != lake.path
    assert lake["job_events"] == same["job_events"] != same["machine_events"]
    assert len({lake["job_events"], same["job_events"], other["job_events"]}) == 2
    for again in (pickle.loads(pickle.dumps(lake)), copy.deepcopy(lake)):
        assert again == lake and again["job_events"].rows == lake["job_events"].rows


def test_paths_are_made_absolute_once(source: Path, tmp_path: Path) -> None:
    lake = tracelake.convert(source, "lake", tables="job_events")
    assert lake.path == str(tmp_path / "lake") == os.fspath(lake)
    assert "in lake:" in repr(lake) and "of lake:" in repr(lake["job_events"])
    Path("elsewhere").mkdir()
    os.chdir("elsewhere")
    assert str(tmp_path / "lake") in repr(lake)
    assert all(Path(file).is_absolute() and Path(file).is_file() for file in lake["job_events"].files)
    assert lake["job_events"].to_arrow().num_rows == lake["job_events"].to_polars().height == lake.rows
    # Functions that take a path take a lake.
    assert tracelake.open(lake) == lake and tracelake.verify(lake) and tracelake.inspect(lake).what == "lake"


def test_a_table_shows_itself(lake: tracelake.Lake) -> None:
    table = lake["job_events"]
    for shown in (repr(table), table._repr_html_()):
        assert "job_events of" in shown and f"{table.rows:,} rows" in shown and "file_number" in shown
    # With the headings.
    assert table._repr_html_().count("<tr>") == len(table.schema) + 1
    assert table.schema["event_type"].codes[0] == "SUBMIT"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
@pytest.mark.parametrize("name", ["g[1]", "a*b", "sp ace", "year=2011", "file_number=9", "cell=b", "{a,b}", "100%20x", "it's", 'd"q', "q?"])
@pytest.mark.parametrize("layout", ["hive", "flat"])
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_no_name_of_a_directory_is_a_pattern(source: Path, name: str, layout: str, kind: str) -> None:
    lake = tracelake.convert(source, f"{name}/lake", tables="job_events", layout=layout, format=kind)  # type: ignore[arg-type]
    table = lake["job_events"]
    stray = Path(table.files[0])
    shutil.copy(stray, stray.with_name(f"copy{stray.suffix}"))
    for named in (False, True):
        view = "job_events_named" if named else "job_events"
        found = assert_equal(table, lake.duckdb(), f"SELECT * FROM {view}", named=named)
        assert found.num_rows == table.rows
        assert set(found["file_number"].to_pylist()) == {0, 1}


def test_a_missing_file_is_named(source: Path) -> None:
    lake = tracelake.convert(source, "lake", tables="job_events")
    table = lake["job_events"]
    gone = Path(table.files[1])
    gone.unlink()
    for use in (table.scan, table.to_polars, table.to_arrow, table.to_pandas, table.dataset, table.head, lambda: table.files):
        with pytest.raises(FileNotFoundError, match="is missing; verify the lake") as caught:
            use()
        assert isinstance(caught.value, tracelake.MissingFileError) and caught.value.path == str(gone)


def test_a_damaged_file_is_an_error_of_the_package(source: Path) -> None:
    lake = tracelake.convert(source, "lake", tables="job_events")
    table = lake["job_events"]
    Path(table.files[0]).write_bytes(b"PAR1 nothing PAR1")
    for use in (table.to_polars, table.to_arrow, table.to_pandas, table.head, table.dataset):
        with pytest.raises(tracelake.FailedError, match="cannot read job_events: .*; verify the lake"):
            use()


def test_every_result_is_a_table_in_a_notebook(source: Path, lake: tracelake.Lake) -> None:
    pytest.importorskip("matplotlib")
    results = [
        lake,
        lake["job_events"],
        tracelake.inspect(lake),
        tracelake.verify(lake, source),
        tracelake.verify(copy_of(Path(lake.path), Path("damaged"))),
        tracelake.generate("google-2011-v2.1", "made", rows=300),
        tracelake.schema(lake.trace),
        tracelake.schema(lake.trace, "job_events"),
        tracelake.check(lake),
        tracelake.report(lake, "page.html"),
        tracelake.derive(lake, "derived"),
        tracelake.release(copy_of(Path(lake.path), Path("released"))),
    ]
    for result in results:
        shown = result._repr_html_()
        assert "<table>" in shown and shown.count("<") == shown.count(">"), type(result)
        assert "\n" in repr(result) or isinstance(result, tracelake.Verification), type(result)
    for result in results[-3:]:
        assert os.path.isabs(result.path) and result.path not in repr(result)  # type: ignore[union-attr]
