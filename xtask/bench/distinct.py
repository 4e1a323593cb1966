"""Rows with as many distinct floats as real ones may have. Those of `generate` have few: its floats have ten significant
bits. Here they are of continuous distributions, as multiples of 2^-20 with four digits, as Google's trace has them.
"""

import duckdb

from markdown import table

# The rows of which distinct values are counted.
ROWS = [600, 1_000_000]


def varied(files, columns, folder):
    """The rows of these files with other floats, in files of the same names; kept for the next time."""
    folder.mkdir(parents=True, exist_ok=True)
    picked = ", ".join(varied_float(name) if kind == "Float64" else name for name, kind in columns)
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SELECT setseed(0.5)")
    for file in files:
        path = folder / file.name
        if not path.exists():
            rows = f"SELECT {picked} FROM {texts_of([file], columns)}"
            connection.execute(f"COPY ({rows}) TO '{path}.part' (FORMAT csv, HEADER false, COMPRESSION gzip)")
            path.with_name(f"{path.name}.part").rename(path)


def varied_float(name):
    """Half of a number to one and a half of it; NULL stays, and so does 0."""
    return f"format('{{:.4g}}', round({name}::DOUBLE * (0.5 + random()) * 1048576) / 1048576) AS {name}"


def texts_of(files, columns):
    names = ", ".join(f"'{name}': 'VARCHAR'" for name, _ in columns)
    files = ", ".join(f"'{file}'" for file in files)
    return f"read_csv([{files}], header = false, quote = '', columns = {{{names}}})"


def counted(sources, columns):
    """How many values a float has, of each source: its label, its files, and the rows that it has."""
    floats = [name for name, kind in columns if kind == "Float64"]
    header, found = ["column"], [[name] for name in floats]
    for label, files, most in sources:
        for rows in [rows for rows in ROWS if rows <= most]:
            header.append(f"{label}, {rows:,} rows")
            counts = ", ".join(f"count(DISTINCT {name})" for name in floats)
            first = f"SELECT * FROM {texts_of(files, columns)} LIMIT {rows}"
            for line, count in zip(found, duckdb.sql(f"SELECT {counts} FROM ({first})").fetchall()[0]):
                line.append(f"{count:,}")
    return table(header, found)
