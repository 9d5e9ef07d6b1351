"""The handle that users work with: ``Table``, and ``retry_conflicts`` around it."""
