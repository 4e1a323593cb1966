"""What the views of `tracelake schema --as duckdb|spark` have to show, worked out by other code: from
`tracelake schema --as json` and the rows as pyarrow reads them."""

import datetime
import math
import re

import pyarrow.parquet

UNITS = {"microseconds": 1_000_000, "milliseconds": 1_000, "seconds": 1}
START = datetime.datetime(1970, 1, 1)


def expected(described, parts):
    """The columns of a table's view, and its rows, each a dictionary."""
    rows = []
    for part in parts:
        for row in pyarrow.parquet.ParquetFile(part["output"]).read().to_pylist():
            shown = {}
            for column in described["columns"]:
                show(column, row[column["name"]], described["epoch"], shown)
            shown["file_number"] = part["number"]
            rows.append(shown)
    return rows


def show(column, value, epoch, shown):
    name = column["name"]
    there = None if value in [one["value"] for one in column["sentinels"]] else value
    scale, _, since = (column["unit"] or "").partition(" since ")
    if since:
        units = UNITS[scale]
        shown[f"{name}_seconds"] = None if there is None else there / units
        micros = None if there is None else round(there * (1_000_000 // units)) + (epoch or 0) * 1_000_000
        shown[f"{name}_timestamp"] = None if micros is None else START + datetime.timedelta(microseconds=micros)
        shown[name] = value
    elif column["codes"]:
        names = {code["value"]: code["name"] for code in column["codes"]}
        shown[name] = None if value is None else names.get(value, str(value))
    elif column["ranges"]:
        bounds = [(one["from"], math.inf if one["to"] is None else one["to"], one["name"]) for one in column["ranges"]]
        named = [label for low, high, label in bounds if value is not None and low <= value <= high]
        shown[f"{name}_range"] = named[0] if named else None
        shown[name] = value
    elif column["format"].endswith("_OR_INTEGER"):
        integer = int(value) if value is not None and re.fullmatch("-?[0-9]+", value) else None
        fits = integer is not None and -(2**63) <= integer < 2**63
        shown[f"{name}_integer"] = integer if fits else None
        shown[name] = value
    else:
        shown[name] = there


def differences(reader, table, columns, rows, wanted):
    """The findings on the rows of a view, in any order."""
    if not wanted or columns != list(wanted[0]):
        return [f"{reader}: {table}: columns {columns}, not {list(wanted[0]) if wanted else wanted}"]
    found = sorted(map(repr, rows))
    wanted = sorted(repr(tuple(row.values())) for row in wanted)
    if found == wanted:
        return []
    for one, other in zip(found, wanted):
        if one != other:
            return [f"{reader}: {table}: {one}, not {other}"]
    return [f"{reader}: {table}: {len(found)} rows, not {len(wanted)}"]
