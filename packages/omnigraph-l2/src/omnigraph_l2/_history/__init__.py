"""The log of commits: projections of what the catalog's ``publish`` rows say."""
