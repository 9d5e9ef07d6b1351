"""Record the operations of a process on files: ptrace, seccomp, and typed operations."""
