"""What can be typed: names, options, what they mean. Nothing here imports Lance or Arrow."""
