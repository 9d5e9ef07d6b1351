"""The program ``omnigraph``. It uses nothing but the public names of this package.

``commands`` says what can be typed, and is imported for ``--help``; ``work`` does it, and is
imported for the command that was typed, because Lance and Arrow come with it.
"""
