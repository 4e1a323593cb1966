"""Tables from their publisher's Parquet files."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import tracelake

TRACE = "borg-2019"
MACHINES = "machine_events-000000000000.parquet.gz"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same rows as JSON and as Parquet."""
    root = tmp_path_factory.mktemp("forms")
    for form in ("json", "parquet"):
        tracelake.generate(TRACE, root / form, rows=600, parts=2, form=form)  # type: ignore[arg-type]
    return root / "json", root / "parquet"


def test_both_forms_give_equal_lakes(sources: tuple[Path, Path], tmp_path: Path) -> None:
    json, parquet = (tracelake.convert(source, tmp_path / source.name) for source in sources)
    assert [table.name for table in json.tables] == [table.name for table in parquet.tables]
    for table in json.tables:
        left, right = (lake[table.name].to_arrow() for lake in (json, parquet))
        assert left.equals(right), table.name
    assert tracelake.verify(tmp_path / "parquet", source=tmp_path / "json").values > 0
    assert tracelake.verify(tmp_path / "parquet", source=sources[1]).values > 0
    with pytest.raises(tracelake.TracelakeError, match="source-form parquet") as refused:
        tracelake.convert(sources[1], tmp_path / "json")
    assert refused.value.exit_code == 6


def test_a_form_is_chosen(sources: tuple[Path, Path], tmp_path: Path) -> None:
    both = tmp_path / "both"
    both.mkdir()
    for source in sources:
        for file in source.glob("machine_*"):
            (both / file.name).write_bytes(file.read_bytes())
    with pytest.raises(tracelake.UsageError, match="two forms"):
        tracelake.convert(both, tmp_path / "lake")
    lake = tracelake.convert(both, tmp_path / "lake", source_form="parquet")
    assert lake["machine_events"].parts[0].rows_out > 0
    with pytest.raises(tracelake.UsageError, match="source_form: 'csv'"):
        tracelake.convert(both, tmp_path / "lake", source_form="csv")  # type: ignore[arg-type]


def test_a_file_is_read_without_a_lake(sources: tuple[Path, Path], tmp_path: Path) -> None:
    lake = tracelake.convert(sources[1], tmp_path / "lake", tables=["machine_events"])
    expected = lake["machine_events"].to_arrow()
    parts = [pyarrow.table(tracelake.read_part(path)) for path in sorted(sources[1].glob("machine_events-*"))]
    assert pyarrow.concat_tables(parts).equals(expected.select(parts[0].column_names))
    narrow = pyarrow.table(tracelake.read_part(sources[1] / MACHINES, columns=["machine_id"]))
    assert narrow.column_names == ["machine_id"]


def test_a_bad_row_is_named(sources: tuple[Path, Path], tmp_path: Path) -> None:
    rows = pyarrow.parquet.read_table(sources[1] / MACHINES)
    codes = [3_000_000_000, *rows["type"].to_pylist()[1:]]
    rows = rows.set_column(rows.column_names.index("type"), "type", pyarrow.array(codes, pyarrow.int64()))
    path = tmp_path / MACHINES
    pyarrow.parquet.write_table(rows, path)
    reader = tracelake.read_part(path)
    with pytest.raises(pyarrow.ArrowException, match="row 1, in row group 1"):
        pyarrow.table(reader)
    assert reader.error is not None and reader.error.exit_code == 4
    assert Path(str(reader.error.path)) == path
    reader = tracelake.read_part(path, on_bad_row="reject")
    assert pyarrow.table(reader).num_rows == len(rows) - 1
    assert reader.rejected == 1


@pytest.mark.parametrize("version", ["1.0", "2.6"])
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
def test_files_of_pyarrow(sources: tuple[Path, Path], tmp_path: Path, version: str, compression: str) -> None:
    for source in sorted(sources[1].glob("*-000000000000.parquet.gz")):
        rows = pyarrow.parquet.read_table(source)
        path = tmp_path / source.name
        pyarrow.parquet.write_table(
            rows, path, version=version, compression=compression, data_page_version=version[:1] + ".0",
            use_dictionary=version == "1.0", row_group_size=100, data_page_size=500, write_page_checksum=True,
        )  # fmt: skip
        if compression == "brotli":
            with pytest.raises(pyarrow.ArrowException, match="BROTLI"):
                pyarrow.table(tracelake.read_part(path))
            continue
        expected = pyarrow.table(tracelake.read_part(source))
        assert pyarrow.table(tracelake.read_part(path)).equals(expected), source.name


def test_a_flipped_bit_is_found(sources: tuple[Path, Path], tmp_path: Path) -> None:
    rows = pyarrow.parquet.read_table(sources[1] / MACHINES)
    path = tmp_path / MACHINES
    pyarrow.parquet.write_table(rows, path, write_page_checksum=True, compression="none")
    column = pyarrow.parquet.read_metadata(path).row_group(0).column(1)
    start = min(column.data_page_offset, column.dictionary_page_offset or column.data_page_offset)
    content = bytearray(path.read_bytes())
    content[start + column.total_compressed_size - 3] ^= 1
    path.write_bytes(content)
    with pytest.raises(pyarrow.ArrowException):
        pyarrow.table(tracelake.read_part(path))
