"""Paimon tables as Spark DataFrames.

import polynya.spark
spark = polynya.spark.session()
lake = polynya.spark.Lake(spark, "path-or-url")
orders = lake.table("shop.orders").read(where="day = '2026-11-01'", columns=["id", "amount"])
"""

from polynya.spark.lake import Lake, LakeTable
from polynya.spark.session import session

__all__ = ["Lake", "LakeTable", "session"]
