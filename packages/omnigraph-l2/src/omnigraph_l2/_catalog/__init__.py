"""The catalog as pure values: rows in, state out. No I/O, no clock, no random ids in here."""
