"""Faulty stores without HTTP: the rules of ``_faults``, carried out within the process.

Invariant: with no rule in force a wrapper does what the wrapped store does. A wrapper is a
client that tries once: it repeats nothing, so that each call is one request that rules can meet.
"""
