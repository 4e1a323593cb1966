"""Reads a released lake as its users would: each table with Hugging Face datasets by the card alone,
and with mlcroissant by croissant.json alone; both are compared with pyarrow's reading of the files.

In and out as in check.py, with one more key in: "lake", the directory of the lake.
"""

import json
import math
import os
import sys
import tempfile

findings = []


def plain(value):
    """One form for all readers."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bytes):
        value = value.decode()
    return value


def same(one, other):
    if one is None or other is None:
        return one is None and other is None
    if isinstance(one, float) or isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12)
    return one == other


def compare(reader, table, rows, expected):
    if len(rows) != len(expected):
        findings.append(f"{reader}: {table}: {len(rows)} rows, not {len(expected)}")
        return
    for number, (row, other) in enumerate(zip(rows, expected)):
        if list(row) != list(other):
            findings.append(f"{reader}: {table}: columns {list(row)}, not {list(other)}")
            return
        for column, value in row.items():
            if not same(plain(value), other[column]):
                findings.append(f"{reader}: {table}.{column}: row {number}: {value!r}, not {other[column]!r}")
                return


def main():
    request = json.load(sys.stdin)
    # What the libraries print must not mix with the answer.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(HF_HOME=home, HF_HUB_OFFLINE="1")
        import datasets
        import mlcroissant
        import pyarrow.parquet

        lake, tables = request["lake"], {}
        names = [table["name"] for table in request["tables"]]
        configs = datasets.get_dataset_config_names(lake)
        if sorted(configs) != sorted(names):
            findings.append(f"datasets: configurations {configs}, not {names}")
        croissant = mlcroissant.Dataset(jsonld=os.path.join(lake, "croissant.json"))
        issues = croissant.metadata.issues
        findings.extend(f"mlcroissant: {issue}" for issue in sorted(issues.errors | issues.warnings))
        sets = [record_set.id for record_set in croissant.metadata.record_sets]
        if sets != names:
            findings.append(f"mlcroissant: record sets {sets}, not {names}")
        for table in request["tables"]:
            name, expected = table["name"], []
            for part in sorted(table["parts"], key=lambda part: part["output"]):
                expected += pyarrow.parquet.ParquetFile(part["output"]).read().to_pylist()
            loaded = datasets.load_dataset(lake, name, split="train")
            compare("datasets", name, loaded.to_list(), expected)
            records = []
            for record in croissant.records(name):
                records.append({field.removeprefix(f"{name}/"): value for field, value in record.items()})
            compare("mlcroissant", name, records, expected)
            tables[name] = {"rows": len(expected)}
    json.dump({"findings": findings, "tables": tables}, answer)
    answer.close()


main()
