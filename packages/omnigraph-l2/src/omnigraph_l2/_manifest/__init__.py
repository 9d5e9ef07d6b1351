"""The catalog on disk: one branch of ``__manifest``, read, followed and written."""
