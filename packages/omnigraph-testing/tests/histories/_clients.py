"""Clients for runs: one that is right, one that is not, and some that misbehave.

Spawned processes load this file by its path, so it imports nothing that stands beside it.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from omnigraph_testing.errors import Aborted
from omnigraph_testing.histories import Append, Element, Key, MicroOp, Worker

Values = list[list[Element] | None]


class Sqlite:
    """Right: one immediate transaction for all operations, durable against SIGKILL."""

    def __init__(self, path: str, worker: Worker) -> None:
        self._db = sqlite3.connect(path, timeout=20, isolation_level=None)
        self._db.execute("pragma synchronous = off")
        self._db.execute(
            "create table if not exists rows (n integer primary key, key text, element integer)"
        )

    def transact(self, ops: Sequence[MicroOp], branch: str | None) -> Values:
        try:
            self._db.execute("begin immediate")
        except sqlite3.OperationalError as error:
            raise Aborted(reason=str(error)) from error
        values: Values = []
        for op in ops:
            key = json.dumps(op.key)
            if isinstance(op, Append):
                self._db.execute("insert into rows (key, element) values (?, ?)", (key, op.element))
                values.append(None)
            else:
                found = self._db.execute(
                    "select element from rows where key = ? order by n", (key,)
                )
                values.append([row[0] for row in found])
        self._db.execute("commit")
        return values

    def close(self) -> None:
        self._db.close()


class NoLock:
    """Wrong: reads a file, changes the list, and puts the file back, with nobody kept out."""

    def __init__(self, directory: str, worker: Worker) -> None:
        self._directory = Path(directory)
        self._process = worker.process

    def transact(self, ops: Sequence[MicroOp], branch: str | None) -> Values:
        values: Values = []
        for op in ops:
            path = self._directory / f"{_name(op.key)}.json"
            held = json.loads(path.read_text()) if path.exists() else []
            if isinstance(op, Append):
                aside = self._directory / f"{_name(op.key)}.{self._process}"
                aside.write_text(json.dumps([*held, op.element]))
                aside.replace(path)
                values.append(None)
            else:
                values.append(held)
        return values


class Broken:
    """Fails in the way it is told to."""

    def __init__(self, way: str, worker: Worker) -> None:
        self._way = way
        if way == "factory":
            msg = "no client today"
            raise RuntimeError(msg)

    def transact(self, ops: Sequence[MicroOp], branch: str | None) -> Values:
        if self._way == "exit":
            os._exit(3)
        if self._way == "hang":
            os.read(os.pipe()[0], 1)
        if self._way == "short":
            return []
        if self._way == "none":
            return [None for _ in ops]
        if self._way == "aborts":
            raise Aborted(reason="never")
        msg = "connection reset"
        raise OSError(msg)


def _name(key: Key) -> str:
    return key if isinstance(key, str) else "-".join(key)
