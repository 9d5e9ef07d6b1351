"""File operations of a process: seen, recorded, and played back as power cuts."""
