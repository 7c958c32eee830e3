"""What Spark finds by the name of this package: the format "polynya", without registration."""

from polynya.spark.source import PolynyaSource as DefaultSource

__all__ = ["DefaultSource"]
