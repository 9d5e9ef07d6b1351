"""Jobs on a whole graph. ``omnigraph_spark.jobs`` has their public names."""
