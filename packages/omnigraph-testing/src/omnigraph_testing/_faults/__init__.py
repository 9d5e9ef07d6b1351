"""Fault rules: which operations on a store go wrong, how often, and in what way.

Invariant: given the same rules, seeds and operations in the same order, the decisions are
the same. Nothing here knows HTTP, S3 or any client: the gateway (``_gateway``) and the wrappers
carry the decisions out.
"""
