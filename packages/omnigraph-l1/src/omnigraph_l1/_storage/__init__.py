"""Where data is and how to reach it: locations, storage options, object stores, stored objects."""
