"""The program ``omnigraph``. It uses only the public names of this package.

``commands`` declares commands and options, and is imported for ``--help``. ``actions`` carries them
out and imports Lance and Arrow, so it is imported only for the command that runs. ``formats`` reads
and writes files of rows, schemas and types.
"""
