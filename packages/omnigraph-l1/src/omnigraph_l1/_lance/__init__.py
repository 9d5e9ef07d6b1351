"""The typed border to pylance: what it raises, how it names files. Nothing else knows either."""
