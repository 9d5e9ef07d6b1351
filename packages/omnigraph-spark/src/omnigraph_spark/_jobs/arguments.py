"""What ``omnigraph-spark`` understands: one parser for each job, with what all have in common.

Always: what a job takes is said here and nowhere else; it is checked before Spark starts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import omnigraph_spark
from omnigraph_l2 import Severity, VerifyReport
from omnigraph_spark import jobs

__all__ = ["CONFLICT", "DAMAGE", "FAILED", "WRONG", "parser"]

DONE, FAILED, WRONG, DIFFERENT, CONFLICT, DAMAGE = range(6)
"""What the exit status of the program can be."""
_Run = Callable[[Any, argparse.Namespace, Mapping[str, Any]], Any]
_Subparsers = Any  # argparse has no public name for it


def parser() -> argparse.ArgumentParser:
    """Make the parser."""
    made = argparse.ArgumentParser(
        prog="omnigraph-spark",
        description="Work on a whole graph that a Spark cluster does.",
        epilog='With spark-submit: spark-submit "$(omnigraph-spark --where)" <job> …',
    )
    made.add_argument("--where", action=_Where, help="print the file that spark-submit is given")
    listed = made.add_subparsers(title="jobs", dest="job", metavar="<job>", required=True)
    for add in (_load, _merge, _diff, _verify, _optimize, _export):
        add(listed)
    return made


def _load(listed: _Subparsers) -> None:
    def run(spark: Any, given: argparse.Namespace, common: Mapping[str, Any]) -> Any:
        return jobs.load(
            spark, given.repository, given.mapping, branch=given.branch, base=given.base,
            rejects=given.rejects, max_rejects=given.max_rejects, actor=given.actor,
            message=given.message, operation_hash=given.operation_hash, **common,
        )  # fmt: skip

    job = _job(listed, "load", "bring files into tables, as a mapping says", run)
    job.add_argument("mapping", help="a TOML file")
    job.add_argument("--branch", default="main")
    job.add_argument("--base", help="the folder of the files, if not that of the mapping")
    job.add_argument("--rejects", help="a folder for the rows that do not fit")
    job.add_argument("--max-rejects", help="how many there may be: a number, or a share like 1%%")
    job.add_argument("--operation-hash", help="a name for what is done once")
    _author(job)


def _merge(listed: _Subparsers) -> None:
    def run(spark: Any, given: argparse.Namespace, common: Mapping[str, Any]) -> Any:
        return jobs.merge(
            spark, given.repository, given.source, given.into, strategy=given.strategy,
            dry_run=given.dry_run, actor=given.actor, message=given.message, **common,
        )  # fmt: skip

    job = _job(listed, "merge", "bring the changes of a branch into another one", run)
    job.add_argument("source", help="a branch, a tag or a commit")
    job.add_argument("--into", default="main", help="the branch that is changed (main)")
    job.add_argument("--strategy", choices=("error", "ours", "theirs"), default="error")
    job.add_argument("--dry-run", action="store_true", help="write nothing, only tell")
    _author(job)


def _diff(listed: _Subparsers) -> None:
    def run(spark: Any, given: argparse.Namespace, common: Mapping[str, Any]) -> Any:
        return jobs.diff(
            spark, given.repository, given.before, given.after, tables=given.tables,
            out=given.out, format=given.format, overwrite=given.overwrite, **common,
        )  # fmt: skip

    def judge(report: jobs.DiffReport, given: argparse.Namespace) -> int:
        return DIFFERENT if given.exit_code and not report.is_empty else DONE

    job = _job(listed, "diff", "tell what differs between two moments", run, judge)
    job.add_argument("before", help="a branch, a tag or a commit")
    job.add_argument("after", help="another one")
    job.add_argument("--out", help="write the rows to this folder")
    job.add_argument("--format", choices=jobs.DIFF_FORMATS, default="parquet")
    job.add_argument("--overwrite", action="store_true", help="write over what is there")
    job.add_argument("--exit-code", action="store_true", help="end with 3 where they differ")
    _tables(job)


def _verify(listed: _Subparsers) -> None:
    def run(spark: Any, given: argparse.Namespace, common: Mapping[str, Any]) -> Any:
        return jobs.verify(
            spark, given.repository, tables=given.tables, dangling_edges=given.dangling_edges,
            duplicates=not given.no_duplicates, values=given.values, **common,
        )  # fmt: skip

    def judge(report: VerifyReport, _: argparse.Namespace) -> int:
        damaged = any(each.severity is Severity.ERROR for each in report.findings)
        return DAMAGE if damaged else DONE

    job = _job(listed, "verify", "check all that should hold", run, judge)
    _tables(job)
    job.add_argument("--dangling-edges", action="store_true", help="look up the ends of all edges")
    job.add_argument("--no-duplicates", action="store_true", help="do not read ids")
    job.add_argument("--values", action="store_true", help="read every value")


def _optimize(listed: _Subparsers) -> None:
    def run(spark: Any, given: argparse.Namespace, common: Mapping[str, Any]) -> Any:
        return jobs.optimize(
            spark, given.repository, tables=given.tables, branch=given.branch,
            actor=given.actor, message=given.message, **common,
        )  # fmt: skip

    job = _job(listed, "optimize", "merge small fragments, and keep indexes up", run)
    job.add_argument("--branch", default="main")
    _tables(job)
    _author(job)


def _export(listed: _Subparsers) -> None:
    def run(spark: Any, given: argparse.Namespace, common: Mapping[str, Any]) -> Any:
        return jobs.export(
            spark, given.repository, given.out, branch=given.branch, version=given.version,
            commit=given.commit, as_of=given.as_of, tag=given.tag, tables=given.tables,
            format=given.format, overwrite=given.overwrite, **common,
        )  # fmt: skip

    job = _job(listed, "export", "write tables as files that every program reads", run)
    job.add_argument("out", help="a folder, anywhere that Spark can write to")
    job.add_argument("--format", choices=tuple(jobs.FORMATS), default="parquet")
    job.add_argument("--overwrite", action="store_true", help="write over what is there")
    job.add_argument("--branch", default="main")
    job.add_argument("--version", type=int)
    job.add_argument("--commit")
    job.add_argument("--as-of", type=datetime.fromisoformat, help="2026-01-31T12:00:00+00:00")
    job.add_argument("--tag")
    _tables(job)


def _job(
    listed: _Subparsers,
    name: str,
    what: str,
    run: _Run,
    judge: Callable[[Any, argparse.Namespace], int] = lambda *_: DONE,
) -> argparse.ArgumentParser:
    job: argparse.ArgumentParser = listed.add_parser(name, help=what, description=what)
    job.set_defaults(run=run, judge=judge)
    job.add_argument("repository", help="its place: a folder, or s3://…")
    several: dict[str, Any] = {
        "action": "append",
        "default": [],
        "type": _pair,
        "metavar": "KEY=VALUE",
    }
    common = job.add_argument_group("for every job")
    common.add_argument("--storage", help="an option of the store; it also reads AWS_…", **several)
    common.add_argument("--master", help="where Spark runs, as in local[4] or spark://…")
    common.add_argument("--conf", help="a setting of Spark", **several)
    common.add_argument("--json", action="store_true", help="give the report as JSON")
    common.add_argument("--quiet", action="store_true", help="do not tell how far it has come")
    return job


def _tables(job: argparse.ArgumentParser) -> None:
    job.add_argument(
        "--table", action="append", dest="tables", metavar="KEY",
        help="only this table, as in node:Person; may be said several times",
    )  # fmt: skip


def _author(job: argparse.ArgumentParser) -> None:
    job.add_argument("--actor", help="who does it")
    job.add_argument("--message", help="why")


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        wanted = "expected KEY=VALUE; what was found is not shown, it may be a secret"
        raise argparse.ArgumentTypeError(wanted)
    return key, value


class _Where(argparse.Action):
    """Prints where the program is, and ends."""

    def __init__(self, option_strings: list[str], dest: str, **kwargs: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **kwargs)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        place = Path(omnigraph_spark.__file__).with_name("__main__.py")
        sys.stdout.write(f"{place}\n")
        parser.exit()
