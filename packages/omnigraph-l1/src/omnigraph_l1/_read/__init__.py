"""Reading a pinned version: rows, deletion vectors, history, and comparison of versions."""
