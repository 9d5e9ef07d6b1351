"""The errors, by what they are about; ``omnigraph_spark.errors`` is where users find them."""
