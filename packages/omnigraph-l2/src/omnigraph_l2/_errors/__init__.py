"""The errors, one module for each way to handle them. The public module is ``errors``."""
