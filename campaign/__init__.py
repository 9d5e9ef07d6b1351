"""Instruments for the verification of OmniGraph itself. No wheel contains them.

``tracing`` records what a process does to files; ``power_cuts`` derives from such a record each
state that a power cut could leave; ``traced_crash`` kills a process at an operation on files;
``forked_processes`` starts processes without importing Lance again;
``refs`` injects faults into stores of refs and checks histories of their calls; ``graph_model`` is
a state machine that compares a repository with a plain model. They may import private modules of
omnigraph_testing. The tests below ``campaign/tests`` test the instruments.
"""
