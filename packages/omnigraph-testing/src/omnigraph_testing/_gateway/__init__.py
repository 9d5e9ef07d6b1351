"""An HTTP gateway before a real S3 server that carries out fault rules.

Invariant: what no rule meets passes byte for byte in both directions, heads and bodies, so
that signatures stay valid (they cover the Host header, which names the gateway for both sides).
Which request meets which fault is the business of ``_faults``.
"""
