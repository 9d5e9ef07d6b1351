"""Real S3 servers for tests: started once, shared between processes, never orphaned.

What always holds: a server lives exactly as long as somebody holds a lease on it, and a lease is
an open connection to the server's supervisor, which the kernel closes for whoever dies. Faults are
not its business: see ``_gateway``.
"""
