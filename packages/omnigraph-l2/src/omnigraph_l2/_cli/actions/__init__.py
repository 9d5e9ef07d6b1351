"""The actions behind the commands, called with parsed arguments."""
