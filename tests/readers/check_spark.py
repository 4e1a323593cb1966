"""Reads a lake with Spark: schema, comments, partition, counts; and the views of
`tracelake schema --as spark` over it. In and out as in check.py, with three more keys in: "lake", the
directory of the lake, "ddl", the statements, and "schema", what `tracelake schema --as json` says."""

import json
import os
import sys
import tempfile

import views
from pyspark.sql import SparkSession
from pyspark.sql import functions

SPARK = {"int64": "bigint", "int32": "int", "double": "double", "boolean": "boolean", "string": "string"}


def statements(ddl):
    """The statements of a text; a line that starts with -- is a comment, and strings keep to a line."""
    lines = [line for line in ddl.splitlines() if not line.startswith("--")]
    return [statement for statement in "\n".join(lines).split(";\n") if statement.strip(" ;\n")]


def check_views(spark, request):
    """The tables and views that the statements make show what they should."""
    ddl = request["ddl"].replace("LOCATION 'OUT/", f"LOCATION '{request['lake']}/")
    for statement in statements(ddl + "\n"):
        spark.sql(statement)
    described = {table["name"]: table for table in request["schema"]["tables"]}
    findings = []
    for table in request["tables"]:
        name = table["name"]
        view = spark.table(f"{name}_named")
        description = dict(described[name], epoch=request["schema"]["epoch"])
        wanted = views.expected(description, table["parts"])
        rows = [tuple(row) for row in view.collect()]
        findings += views.differences("spark", name, view.columns, rows, wanted)
    return findings


def main():
    request = json.load(sys.stdin)
    # Spark's own log lines must not mix with the answer.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "localhost")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", tempfile.mkdtemp())
        .getOrCreate()
    )
    findings, tables = [], {}
    for table in request["tables"]:
        name = table["name"]
        frame = spark.read.parquet(table["directory"])
        fields = {field.name: field for field in frame.schema.fields}
        for column in table["columns"]:
            field = fields.pop(column["name"], None)
            if field is None or field.dataType.simpleString() != SPARK[column["type"]]:
                findings.append(f"spark: {name}.{column['name']} is {field}")
            elif field.metadata.get("comment") != column["comment"]:
                findings.append(f"spark: {name}.{column['name']}: comment {field.metadata}")
        if list(fields) != ["file_number"]:
            findings.append(f"spark: {name}: unexpected columns {list(fields)}")
        numbers = [row[0] for row in frame.select("file_number").distinct().orderBy("file_number").collect()]
        expected = sorted(part["number"] for part in table["parts"])
        if numbers != expected:
            findings.append(f"spark: {name}: file numbers {numbers}, not {expected}")
        # Every column is decoded, and one partition alone is read.
        counted = frame.select([functions.count(column["name"]) for column in table["columns"]]).collect()[0]
        rows = frame.count()
        for column, filled in zip(table["columns"], counted):
            if not column["nullable"] and filled != rows:
                findings.append(f"spark: {name}.{column['name']}: {rows - filled} NULLs")
        parts = sum(frame.where(f"file_number = {number}").count() for number in expected)
        if parts != rows:
            findings.append(f"spark: {name}: {rows} rows, but {parts} in its parts")
        tables[name] = {"rows": rows, "values": sum(counted), "file_numbers": numbers}
    findings += check_views(spark, request)
    spark.stop()
    json.dump({"findings": findings, "tables": tables}, answer)
    answer.close()


main()
