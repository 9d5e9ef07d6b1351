"""Writing: executors move the rows, the driver publishes them."""
