"""The objects that users hold. Each method checks its arguments, delegates and returns."""
