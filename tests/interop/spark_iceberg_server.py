"""Runs inside the environment of Spark 4.1: a line of JSON in, a line of JSON out, rows as Arrow files."""

import json
import os
import sys
import traceback
import uuid

import pyarrow as pa
from pyspark.sql import SparkSession

CATALOG = "spark.sql.catalog.ice"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:TieredStopAtLevel=1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.iceberg.executor-cache.enabled": "false",
    CATALOG: "org.apache.iceberg.spark.SparkCatalog",
    f"{CATALOG}.type": "hadoop",
    f"{CATALOG}.cache-enabled": "false",
}


def start(runtime):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["TZ"] = "UTC"
    builder = SparkSession.builder.master("local[2]").config("spark.driver.extraClassPath", runtime)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def session(spark, command):
    """A session whose catalog `ice` has the command's warehouse: a catalog is made at its first use."""
    new = spark.newSession()
    new.conf.set(f"{CATALOG}.warehouse", command.get("warehouse", "/nowhere"))
    return new


def sql(spark, command):
    new = session(spark, command)
    for statement in command["statements"]:
        new.sql(statement).collect()


def rows(spark, command):
    """Write the rows of each query, which is SQL or a path with a snapshot, into a file of its own."""
    new = session(spark, command)
    return [save(frame(new, query).toArrow(), command["out"]) for query in command["queries"]]


def frame(spark, query):
    if isinstance(query, str):
        return spark.sql(query)
    return spark.read.format("iceberg").option("versionAsOf", query["snapshot"]).load(query["path"])


def save(table, folder):
    name = os.path.join(folder, f"{uuid.uuid4()}.arrow")
    with pa.OSFile(name, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return name


def main():
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever a library prints is not an answer
    spark = start(sys.argv[1])
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"ok": True, "result": {"sql": sql, "rows": rows}[command["do"]](spark, command)}
        except Exception as error:  # noqa: BLE001  # every failure is an answer; the caller decides
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
