"""Read one table of one snapshot: the snapshot, the plan of a scan, filters, the scan itself."""
