"""The errors, one module for each thing that a handler does. ``errors`` is their front door."""
