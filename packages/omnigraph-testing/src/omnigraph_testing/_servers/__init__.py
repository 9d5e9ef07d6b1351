"""Real S3 servers for tests: started once, shared between processes, never orphaned.

Invariant: a server lives exactly as long as a process holds a lease on it, and a lease is an open
connection to the server's supervisor, which the kernel closes when its owner dies. Faults are not
its business: see ``_gateway``.
"""
