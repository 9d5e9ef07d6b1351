"""The job ``load``: files become rows of tables, as a mapping describes."""
