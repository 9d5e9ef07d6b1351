"""Spark sessions that can read and write graphs."""

from omnigraph_spark._session.making import register, session

__all__ = ["register", "session"]
