"""Work on a whole graph that a cluster does; ``omnigraph_spark.jobs`` is where users find it."""
