"""Reads a lake with Spark: schema, comments, partition, counts. In and out as in check.py."""

import json
import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions

SPARK = {"int64": "bigint", "int32": "int", "double": "double", "boolean": "boolean", "string": "string"}


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
    spark.stop()
    json.dump({"findings": findings, "tables": tables}, answer)
    answer.close()


main()
