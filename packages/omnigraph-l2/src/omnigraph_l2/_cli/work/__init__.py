"""What the commands do, with values that were understood already."""
