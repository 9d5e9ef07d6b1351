"""The commands with their options and help texts. Nothing here imports Lance or Arrow."""
