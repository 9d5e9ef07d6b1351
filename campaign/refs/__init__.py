"""Stores of refs: a wrapper that injects faults, recorded calls, and a check of their history."""

from campaign.refs.faulty_refs import FaultyRefs
from campaign.refs.ref_check import check_refs
from campaign.refs.ref_journal import (
    ABSENT,
    RefAction,
    RefAnswer,
    RefCall,
    RefRecorder,
    read_ref_journals,
)

__all__ = [
    "ABSENT",
    "FaultyRefs",
    "RefAction",
    "RefAnswer",
    "RefCall",
    "RefRecorder",
    "check_refs",
    "read_ref_journals",
]
