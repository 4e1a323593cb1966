"""Runs the snippets of docs/query.md on a lake, section by section, and compares the answers of the
readers with each other. Spark's snippets run where pyspark is installed.

Input (one JSON object on stdin): {"page": the text of the page, "directory": the directory that holds
`lake`}. Output: {"findings": [text], "sections": the number of sections with snippets, "snippets": the
number of snippets that ran}.
"""

import importlib.util
import json
import math
import os
import re
import sys

import duckdb

findings = []


def rows_of(language, text, spark):
    """The rows of a snippet's answer."""
    if language == "sql":
        return duckdb.sql(text).fetchall()
    names = {"spark": spark}
    exec(text, names)
    answer = names["answer"]
    return [tuple(row) for row in (answer.collect() if spark_snippet(text) else answer.rows())]


def spark_snippet(text):
    return "spark.read" in text


def same(one, other):
    pairs = [pair for rows in zip(one, other) for pair in zip(*rows)]
    close = (a == b or (isinstance(a, float) and math.isclose(a, b, rel_tol=1e-9)) for a, b in pairs)
    return len(one) == len(other) and all(close)


def main():
    request = json.load(sys.stdin)
    os.chdir(request["directory"])
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    spark = None
    if importlib.util.find_spec("pyspark"):
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    # The sections before are about the Python package.
    engines = request["page"].split("\n## With any engine\n")[1]
    sections = snippets = 0
    for section in engines.split("\n## ")[1:]:
        title, first = section.splitlines()[0], None
        found = re.findall(r"```(sql|python)\n(.*?)```", section, re.DOTALL)
        sections += bool(found)
        for language, text in found:
            if spark_snippet(text) and spark is None:
                continue
            rows = rows_of(language, text, spark)
            snippets += 1
            if not rows:
                findings.append(f"{title}: {language}: no rows")
            if first is None:
                first = rows
            elif not same(first, rows):
                findings.append(f"{title}: {rows}, not {first}")
    json.dump({"findings": findings, "sections": sections, "snippets": snippets}, answer)
    answer.close()


main()
