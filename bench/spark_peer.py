"""Runs inside the environment of Spark 4.1: a line of JSON in, the seconds of SQL statements out.

    python spark_peer.py iceberg|delta JAR:JAR

Iceberg's tables are `ice.db.name` in a Hadoop catalog, Delta's are named by their folder. Sessions, memory and the
number of shuffle partitions are those that polynya gets.
"""

import json
import os
import sys
import time
import traceback

from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "3g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.parquet.compression.codec": "zstd",
}
KINDS = {
    "iceberg": {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
    },
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.databricks.delta.snapshotPartitions": "4",  # 50 are for large clusters
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
}
state = {}


def start(command):
    """The session, and the rows to write as the view `source`, held in memory."""
    if "spark" not in state:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        kind, jars = sys.argv[1:]
        builder = SparkSession.builder.master("local[2]").config("spark.driver.extraClassPath", jars)
        settings = {**SETTINGS, **KINDS[kind]}
        if kind == "iceberg":
            settings["spark.sql.catalog.ice.warehouse"] = command["folder"]
        for key, value in settings.items():
            builder = builder.config(key, value)
        state["spark"] = builder.getOrCreate()
        state["spark"].sparkContext.setLogLevel("OFF")
    made = state["spark"].range(0, command["rows"], 1, 4).selectExpr(*command["columns"]).cache()
    made.count()
    made.createOrReplaceTempView("source")


def timed(command):
    """Run the statements of `before`, then those of `timed` with the clock on."""
    run(command["before"])
    started = time.perf_counter()
    run(command["timed"])
    return time.perf_counter() - started


def run(statements):
    for statement in statements:
        state["spark"].sql(statement).collect()


def main():
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever a library prints is not an answer
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"ok": True, "result": {"start": start, "timed": timed}[command["do"]](command)}
        except Exception as error:  # noqa: BLE001  # every failure is an answer; the caller decides
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
