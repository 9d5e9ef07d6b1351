"""Create a Spark session that can read and write repositories."""
