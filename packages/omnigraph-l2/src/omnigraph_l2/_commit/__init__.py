"""Making a change visible: branch session, publisher, writer queue, leases, integrity rules."""
