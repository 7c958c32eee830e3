"""Apache Paimon tables, native to PySpark."""
