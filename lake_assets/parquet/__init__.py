"""Writing data files in Spark's workers: Parquet files, their encoding and their statistics.

No Delta log and no Spark here; rows come as Arrow batches.
"""
