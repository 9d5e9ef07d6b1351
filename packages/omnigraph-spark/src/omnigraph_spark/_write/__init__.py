"""Write tables: executors write files, the driver publishes them."""
