"""The catalog as pure values: state and plans from rows. No I/O, no clock, no random ids."""
