"""The reader matrix: what each reader makes of lakes of every trace, in both layouts.

    matrix.py read READER PLAN        prints what a reader finds, as JSON; runs in its environment
    matrix.py plan LAKES PLAN         writes the plan: tables with what the files themselves hold
    matrix.py write PLAN PAGE FOUND…  compares, and writes it into the page; ends with 1 if something misses

LAKES is a directory with a lake in each directory. For every leaf of a schema, the plan has the
values that aren't NULL, their minimum, maximum and sum (of a text its characters, of a list its
items), as pyarrow reads file by file. Sums of integers are taken modulo 2^64; floats are compared to
nine digits, because readers add in different orders.
"""

import contextlib
import importlib.metadata
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

KINDS = {"int64": "integer", "int32": "integer", "double": "float", "bool": "boolean", "string": "text"}

#: How long a reader may take, in seconds.
LIMIT = int(os.environ.get("TRACELAKE_READER_SECONDS", "900"))

TYPES = {int: "integer", float: "float", bool: "boolean", str: "text"}


def leaves(schema):
    """The paths of a schema's plain values, and of its lists."""
    import pyarrow

    def walk(field, path):
        path = [*path, field.name]
        if pyarrow.types.is_struct(field.type):
            for child in field.type:
                yield from walk(child, path)
        elif pyarrow.types.is_list(field.type):
            yield {"path": path, "kind": "list"}
        else:
            yield {"path": path, "kind": KINDS[str(field.type)]}

    for field in schema:
        yield from walk(field, [])


def facts(kind, filled, total, low, high):
    """One form for all readers."""
    filled = int(filled)
    if kind == "list":
        return {"sum": int(total or 0)}
    if not filled:
        return {"filled": 0}
    low = low.item() if hasattr(low, "item") else low
    found = TYPES.get(type(low), type(low).__name__)
    if kind == "boolean" and found == "integer":
        # Where it's a column of SQL, its minimum is that of 0 and 1.
        found = kind
    if kind == "float":
        total, low, high = float(total), float(low), float(high)
    elif kind == "boolean":
        total, low, high = int(total), bool(low), bool(high)
    elif kind == "integer":
        total, low, high = int(total) % 2**64, int(low), int(high)
    else:
        total, low, high = int(total), str(low), str(high)
    return {"type": found, "filled": filled, "sum": total, "min": low, "max": high}


def of_values(kind, values):
    """The facts of Python values."""
    there = [value for value in values if value is not None]
    if kind == "list":
        return facts(kind, len(there), sum(map(len, there)), None, None)
    total = sum(map(len, there)) if kind == "text" else math.fsum(there) if kind == "float" else sum(there)
    return facts(kind, len(there), total, min(there, default=None), max(there, default=None))


def at(row, path):
    for name in path:
        row = None if row is None else row[name]
    return row


# ---- plan


def plan(lakes, target):
    import pyarrow.parquet

    tables = []

    def table(title, layout, directory, parts):
        """The findings of pyarrow in the files, one by one."""
        schema = pyarrow.parquet.read_schema(parts[0][1])
        rows = [row for _, path in parts for row in pyarrow.parquet.ParquetFile(path).read().to_pylist()]
        found = list(leaves(schema))
        for leaf in found:
            leaf["facts"] = of_values(leaf["kind"], [at(row, leaf["path"]) for row in rows])
        comments = {field.name: (field.metadata or {}).get(b"comment", b"").decode() for field in schema}
        numbers = {}
        for number, path in parts:
            numbers[number] = numbers.get(number, 0) + pyarrow.parquet.ParquetFile(path).metadata.num_rows
        tables.append(
            {
                "title": title,
                "layout": layout,
                "directory": str(directory),
                "rows": len(rows),
                "leaves": found,
                "comments": comments,
                "numbers": sorted(numbers.items()),
            }
        )

    usage = {}
    for lake in sorted(pathlib.Path(lakes).iterdir()):
        manifest = json.loads((lake / "_tracelake" / "manifest.json").read_text())
        layout = manifest["options"]["layout"]
        for facts_of in manifest["tables"]:
            parts = [(part["file_number"], str(lake / part["output"]["path"])) for part in facts_of["parts"]]
            name = f"{manifest['trace']} {facts_of['name']}"
            table(name, layout, lake / facts_of["name"], parts)
            if layout == "hive" and facts_of["name"] == "task_usage" and len(parts) > 1:
                usage[manifest["trace"]] = parts
    # Two versions of one table: the older one has no 20th column in its source.
    if len(usage) > 1:
        (_, older), (_, newer) = sorted(usage.items())[:2]
        both = pathlib.Path(target).parent / "both" / "task_usage"
        moved = []
        for number, path in [(0, newer[0][1]), (1, older[1][1])]:
            folder = both / f"file_number={number}"
            folder.mkdir(parents=True)
            moved.append((number, shutil.copy(path, folder)))
        table(" and ".join(sorted(usage)[:2]) + " task_usage", "hive", both, moved)
    # Where only one partition is wanted, the data of another one must not be read: they are zeros.
    pruned = None
    for number_of, entry in enumerate(tables):
        if entry["layout"] == "hive" and len(entry["numbers"]) > 1 and entry["title"].endswith("task_events"):
            pruned = pathlib.Path(target).parent / "pruned" / "task_events"
            shutil.copytree(entry["directory"], pruned)
            last = max(pruned.rglob("*.parquet"))
            data = bytearray(last.read_bytes())
            metadata = pyarrow.parquet.ParquetFile(last).metadata
            for group in range(metadata.num_row_groups):
                for index in range(metadata.num_columns):
                    chunk = metadata.row_group(group).column(index)
                    starts = [chunk.dictionary_page_offset, chunk.data_page_offset]
                    start = min(one for one in starts if one is not None)
                    data[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
            last.write_bytes(data)
            first, rows = entry["numbers"][0]
            pruned = {"directory": str(pruned), "number": first, "rows": rows}
            break
    pathlib.Path(target).write_text(json.dumps({"tables": tables, "pruned": pruned}))


# ---- readers: one function each, of a table to (rows, facts of its leaves, rows of each file number)


class Sql:
    """Readers that take SQL. `dialect` has what differs between them."""

    def __init__(self, query, relation, dialect):
        self.query, self.relation, self.dialect = query, relation, dialect

    def read(self, table):
        d, relation = self.dialect, self.relation(table)
        columns = ["count(*)"]
        for leaf in table["leaves"]:
            value, kind = d["field"](leaf["path"]), leaf["kind"]
            summed = {
                "text": d["length"].format(value),
                "boolean": f"CASE WHEN {value} THEN 1 WHEN NOT {value} THEN 0 END",
                "integer": d["wide"].format(value),
                "list": d["items"].format(value),
            }.get(kind, value)
            # Only sums of integers can be wider than 64 bits.
            total = d.get("sum", "sum({})") if kind == "integer" else "sum({})"
            columns += [f"count({value})", total.format(summed)]
            if kind == "list":
                columns += ["NULL", "NULL"]
            elif kind == "boolean":
                columns += [f"min({summed})", f"max({summed})"]
            else:
                columns += [f"min({value})", f"max({value})"]
        row = list(self.query(f"SELECT {', '.join(columns)} FROM {relation}")[0])
        found = [
            facts(leaf["kind"], *row[1 + 4 * place : 5 + 4 * place]) for place, leaf in enumerate(table["leaves"])
        ]
        numbers = None
        if table["layout"] == "hive":
            rows = self.query(f"SELECT file_number, count(*) FROM {relation} GROUP BY file_number")
            numbers = sorted([int(number), int(count)] for number, count in rows)
        return int(row[0]), found, numbers

    def pruned(self, pruned):
        relation = self.relation({"directory": pruned["directory"], "layout": "hive"})
        first = self.dialect["field"](["job_id"])
        rows = self.query(f"SELECT count({first}), sum({first} % 7) FROM {relation} WHERE file_number = {pruned['number']}")
        return int(rows[0][0])


def dotted(quote):
    return lambda path: ".".join(f"{quote}{name}{quote}" for name in path)


def named(query):
    """A query whose columns have names of their own: columns of one name would be one in a dictionary."""

    def ask(text):
        head, tail = text.removeprefix("SELECT ").split(" FROM ", 1)
        parts, depth, current = [], 0, ""
        for letter in head:
            depth += (letter in "([") - (letter in ")]")
            if letter == "," and not depth:
                parts.append(current)
                current = ""
            else:
                current += letter
        columns = ", ".join(f"{part} AS c{place}" for place, part in enumerate([*parts, current]))
        return query(f"SELECT {columns} FROM {tail}")

    return ask


def duckdb():
    import duckdb

    def relation(table):
        glob = table["directory"].replace("'", "''") + "/**/*.parquet"
        return f"read_parquet('{glob}', hive_partitioning = {str(table['layout'] == 'hive').lower()})"

    dialect = {"field": dotted('"'), "length": "length({})", "wide": "{}::HUGEINT", "items": "len({})"}
    return Sql(lambda text: duckdb.sql(text).fetchall(), relation, dialect), duckdb.__version__


def chdb():
    import chdb

    def query(text):
        return [list(row.values()) for row in chdb.query(text, "ArrowTable").to_pylist()]

    def relation(table):
        glob = table["directory"].replace("'", "\\'") + ("/*" if table["layout"] == "hive" else "")
        return f"file('{glob}/*.parquet', Parquet)"

    dialect = {
        "field": dotted("`"),
        "length": "lengthUTF8({})",
        "wide": "toInt128({})",
        "sum": "toString(sum({}))",
        "items": "length({})",
    }
    return Sql(named(lambda text: query(f"{text} SETTINGS use_hive_partitioning = 1")), relation, dialect), chdb.__version__


def datafusion():
    import datafusion
    import pyarrow

    context = datafusion.SessionContext()

    def relation(table):
        name = f"t{len(table['directory'])}_{abs(hash(table['directory']))}"
        if not context.table_exist(name):
            partitions = [("file_number", pyarrow.int32())] if table["layout"] == "hive" else []
            context.register_parquet(name, table["directory"], table_partition_cols=partitions)
        return name

    def query(text):
        rows = context.sql(text).to_pylist()
        return [list(row.values()) for row in rows]

    dialect = {
        "field": lambda path: f'"{path[0]}"' + "".join(f"['{name}']" for name in path[1:]),
        "length": "character_length({})",
        "wide": "CAST({} AS DECIMAL(38, 0))",
        "items": "cardinality({})",
    }

    return Sql(named(query), relation, dialect), datafusion.__version__


class Frames:
    """Readers that give columns. `load` takes a directory, a layout and a wanted file number."""

    def __init__(self, load, values):
        self.load, self.values = load, values

    def read(self, table):
        frame = self.load(table["directory"], table["layout"], None)
        found = [of_values(leaf["kind"], self.values(frame, leaf["path"])) for leaf in table["leaves"]]
        numbers = None
        if table["layout"] == "hive":
            of = [int(number) for number in self.values(frame, ["file_number"])]
            numbers = sorted([number, of.count(number)] for number in set(of))
        return len(frame), found, numbers

    def pruned(self, pruned):
        return len(self.load(pruned["directory"], "hive", pruned["number"]))


def polars():
    import polars

    def load(directory, layout, number):
        frame = polars.scan_parquet(directory, hive_partitioning=layout == "hive")
        return (frame if number is None else frame.filter(polars.col("file_number") == number)).collect()

    def values(frame, path):
        series = frame[path[0]]
        for name in path[1:]:
            series = series.struct.field(name)
        return series.to_list()

    return Frames(load, values), polars.__version__


def pyarrow():
    import pyarrow
    import pyarrow.compute
    import pyarrow.dataset

    def load(directory, layout, number):
        data = pyarrow.dataset.dataset(directory, format="parquet", partitioning="hive" if layout == "hive" else None)
        return data.to_table(filter=None if number is None else pyarrow.dataset.field("file_number") == number)

    def values(table, path):
        column = table[path[0]]
        for name in path[1:]:
            column = pyarrow.compute.struct_field(column, name)
        return column.to_pylist()

    return Frames(load, values), pyarrow.__version__


def pandas():
    import pandas

    def load(directory, layout, number):
        wanted = None if number is None else [("file_number", "==", number)]
        return pandas.read_parquet(directory, dtype_backend="numpy_nullable", filters=wanted)

    return Frames(load, pandas_values), pandas.__version__


def pandas_values(frame, path):
    """The values of a leaf of a frame of pandas."""
    import pandas

    def is_missing(value):
        return value is None or value is pandas.NA or value is pandas.NaT

    column = frame[path[0]]
    items = [None if missing else value for value, missing in zip(column, column.map(is_missing))]
    return [at(item, path[1:]) for item in items]


def arrow_values(table, path):
    """The values of a leaf of a pyarrow table."""
    return [at(item, path[1:]) for item in table[path[0]].to_pylist()]


def files_below(directory):
    return sorted(map(str, pathlib.Path(directory).rglob("*.parquet")))


def datasets():
    import datasets
    import pyarrow

    def load(directory, layout, number):
        # It reads no columns from directories, so it gets one file number at a time.
        wanted = [file for file in files_below(directory) if number is None or f"file_number={number}/" in file]
        with tempfile.TemporaryDirectory() as cache:
            made = []
            for file in wanted:
                rows = datasets.load_dataset("parquet", data_files=[file], split="train", cache_dir=cache)
                table = rows.data.table
                name = pathlib.Path(file).parent.name
                if layout == "hive":
                    part = int(name.partition("=")[2])
                    table = table.append_column("file_number", pyarrow.array([part] * len(table), pyarrow.int32()))
                made.append(pyarrow.Table.from_pylist(table.to_pylist(), schema=table.schema))
        return pyarrow.concat_tables(made)

    return Frames(load, arrow_values), datasets.__version__


def dask():
    import dask
    import dask.dataframe

    dask.config.set({"dataframe.convert-string": False})

    def load(directory, layout, number):
        wanted = None if number is None else [("file_number", "==", number)]
        return dask.dataframe.read_parquet(directory, dtype_backend="pyarrow", filters=wanted).compute()

    return Frames(load, pandas_values), dask.__version__


def fastparquet():
    import fastparquet

    def load(directory, layout, number):
        wanted = [] if number is None else [("file_number", "==", number)]
        return fastparquet.ParquetFile(directory).to_pandas(filters=wanted)

    def values(frame, path):
        name = ".".join(path)
        found = pandas_values(frame, [name] if name in frame else path)
        # Its floats have no NULL but NaN.
        return [None if value != value else value for value in found]

    return Frames(load, values), fastparquet.__version__


def ray():
    import ray
    import ray.data

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")

    def load(directory, layout, number):
        if number is not None:
            directory = f"{directory}/file_number={number}"
        rows = ray.data.read_parquet(directory)
        return __import__("pyarrow").concat_tables(ray.get(rows.to_arrow_refs()), promote_options="default")

    return Frames(load, arrow_values), ray.__version__


def ibis():
    import ibis

    def load(directory, layout, number):
        rows = ibis.duckdb.connect().read_parquet(f"{directory}/**/*.parquet", hive_partitioning=layout == "hive")
        return (rows if number is None else rows.filter(rows.file_number == number)).to_pyarrow()

    return Frames(load, arrow_values), ibis.__version__


def spark(vectorised):
    from pyspark import __version__
    from pyspark.sql import SparkSession

    # Spark's own log lines must not mix with the answer.
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "localhost")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.parquet.enableVectorizedReader", vectorised)
        .config("spark.sql.warehouse.dir", tempfile.mkdtemp())
        .getOrCreate()
    )

    def relation(table):
        frame = session.read.parquet(table["directory"])
        frame.createOrReplaceTempView("t")
        comments = {field.name: field.metadata.get("comment", "") for field in frame.schema.fields}
        reader.comments = {name: text for name, text in comments.items() if name != "file_number"}
        return "t"

    def query(text):
        return [list(row) for row in session.sql(text).collect()]

    dialect = {
        "field": dotted("`"),
        "length": "length({})",
        "wide": "CAST({} AS DECIMAL(38, 0))",
        "items": "CASE WHEN {0} IS NOT NULL THEN size({0}) END",
    }
    reader = Sql(query, relation, dialect)
    return reader, __version__


READERS = {
    "duckdb": duckdb,
    "polars": polars,
    "pyarrow": pyarrow,
    "pandas": pandas,
    "chdb": chdb,
    "datafusion": datafusion,
    "ibis": ibis,
    "datasets": datasets,
    "dask": dask,
    "ray": ray,
    "fastparquet": fastparquet,
    "spark": lambda: spark("true"),
    "spark-rows": lambda: spark("false"),
}
TITLES = {
    "duckdb": "DuckDB",
    "polars": "Polars",
    "pyarrow": "pyarrow dataset",
    "pandas": "pandas",
    "chdb": "chDB",
    "datafusion": "DataFusion",
    "ibis": "Ibis",
    "datasets": "Hugging Face datasets",
    "dask": "Dask",
    "ray": "Ray Data",
    "fastparquet": "fastparquet",
    "spark": "Spark, vectorised",
    "spark-rows": "Spark, row by row (parquet-java)",
}


#: The distributions whose versions are those of the readers.
DISTRIBUTIONS = {"ibis": "ibis-framework", "spark": "pyspark", "spark-rows": "pyspark"}


def read(name, target):
    """Reads in a separate process. When its time is over, it is stopped with all processes that it started."""
    command = [sys.executable, __file__, "read-at-once", name, target]
    # Files, because processes that a reader leaves would keep pipes open.
    with tempfile.TemporaryFile("w+") as answer, tempfile.TemporaryFile("w+") as log:
        reader = subprocess.Popen(command, stdout=answer, stderr=log, start_new_session=True)
        try:
            code = reader.wait(LIMIT)
            reason = None if code == 0 else f"ends with {code}: {tail(log)}"
        except subprocess.TimeoutExpired:
            reason = f"doesn't end within {LIMIT} s"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(reader.pid, signal.SIGKILL)
        answer.seek(0)
        said = answer.read()
    if reason is None:
        sys.stdout.write(said)
        return
    print(f"{name} {reason}", file=sys.stderr)
    version = importlib.metadata.version(DISTRIBUTIONS.get(name, name))
    json.dump({"reader": name, "version": version, "failed": reason.splitlines()[-1][:300]}, sys.stdout)


def tail(log):
    """The end of what a process wrote."""
    log.seek(0)
    return log.read().strip()[-2000:]


def read_at_once(name, target):
    said = json.loads(pathlib.Path(target).read_text())
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    reader, version = READERS[name]()
    found = []
    for table in said["tables"]:
        try:
            rows, of_leaves, numbers = reader.read(table)
            found.append({"rows": rows, "leaves": of_leaves, "numbers": numbers})
            if hasattr(reader, "comments"):
                found[-1]["comments"] = reader.comments
        except Exception as error:
            found.append({"error": f"{type(error).__name__}: {error}"[:300]})
    try:
        pruned = reader.pruned(said["pruned"])
    except Exception as error:
        pruned = f"{type(error).__name__}: {error}"[:300]
    json.dump({"reader": name, "version": version, "tables": found, "pruned": pruned}, answer)
    answer.close()


# ---- page


def same(one, other):
    if isinstance(one, float) and isinstance(other, float):
        return one == other or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-300)
    return one == other


def misses(table, found):
    """The mistakes of a reader in a table, in words."""
    if "error" in found:
        return [found["error"]]
    wrong = []
    if found["rows"] != table["rows"]:
        wrong.append(f"{found['rows']} rows, not {table['rows']}")
    for leaf, of in zip(table["leaves"], found["leaves"]):
        for fact, value in leaf["facts"].items():
            if not same(of.get(fact), value):
                wrong.append(f"{'.'.join(leaf['path'])}: {fact} {of.get(fact)!r}, not {value!r}")
    if table["layout"] == "hive" and [list(one) for one in found["numbers"]] != [list(one) for one in table["numbers"]]:
        wrong.append(f"file numbers {found['numbers']}, not {table['numbers']}")
    if "comments" in found and found["comments"] != table["comments"]:
        wrong.append("other column comments")
    return wrong


TEXTS_OF_LATER_FILES = "texts that can't be NULL are None from the second file of a table on"

#: Known limits of readers: the beginnings of their exceptions, and the causes. Others fail the command.
KNOWN = {
    "fastparquet": {
        "constraint: ": "lists of structs are NULL",
        "attribute_name: ": TEXTS_OF_LATER_FILES,
        "name: ": TEXTS_OF_LATER_FILES,
    },
}


def exceptions(said, one):
    """The mistakes of a reader, in words, each with the tables that it is about."""
    if "failed" in one:
        return {one["failed"]: ["all tables"]}
    found = {}
    for table, of in zip(said["tables"], one["tables"], strict=True):
        for text in misses(table, of):
            found.setdefault(text, []).append(f"{table['title']} ({table['layout']})")
    if one["pruned"] != said["pruned"]["rows"]:
        text = "reads other files, too, where one `file_number` is wanted"
        if isinstance(one["pruned"], str):
            text += f": {one['pruned']}"
        found[text] = ["task_events (hive)"]
    return found


def write(target, page, answers):
    said = json.loads(pathlib.Path(target).read_text())
    found = [json.loads(pathlib.Path(answer).read_text()) for answer in answers]
    ran = {one["reader"] for one in found}
    left_out = ", ".join(title for reader, title in TITLES.items() if reader not in ran)
    note = f"\n**Not in this run, so nothing is known of them: {left_out}.**\n" if left_out else ""
    leaves = sum(len(table["leaves"]) for table in said["tables"])
    lines, faultless, unknown = [], [], []
    for one in found:
        title = f"{TITLES[one['reader']]} {one['version']}"
        known = KNOWN.get(one["reader"], {})
        merged = {}
        for text, tables in exceptions(said, one).items():
            print(f"{title}: {text}: {', '.join(tables)}", file=sys.stderr)
            why = next((why for start, why in known.items() if text.startswith(start)), None)
            unknown += [text] if why is None else []
            merged.setdefault(why or text, {}).update(dict.fromkeys(tables))
        lines += [f"| {title} | {text}: {', '.join(tables)} |" for text, tables in merged.items()]
        faultless += [] if merged else [title]
    text = f"""{len(said["tables"])} tables with {leaves} plain values and lists.
{note}
No exceptions: {", ".join(faultless)}.

| reader | exceptions |
|---|---|
{chr(10).join(lines)}"""
    begin, end = (f"<!-- {which}: cargo xtask readers -->\n" for which in ("begin", "end"))
    head, rest = pathlib.Path(page).read_text().split(begin)
    pathlib.Path(page).write_text(f"{head}{begin}\n{text}\n\n{end}{rest.split(end)[1]}")
    if unknown:
        sys.exit(1)


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "read":
        read(*arguments)
    elif command == "read-at-once":
        read_at_once(*arguments)
    elif command == "plan":
        plan(*arguments)
    else:
        write(arguments[0], arguments[1], arguments[2:])
