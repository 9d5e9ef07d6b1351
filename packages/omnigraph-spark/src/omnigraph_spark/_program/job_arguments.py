"""The arguments of ``omnigraph-spark``: one parser for each job, and options that all jobs share.

Invariant: arguments are checked before Spark starts; that, and help, does not need pyspark.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph_spark._options.output_formats import DIFF_FORMATS, FORMATS

if TYPE_CHECKING:
    from omnigraph_l2 import VerifyReport
    from omnigraph_spark.jobs import DiffReport

__all__ = ["CONFLICT", "DAMAGE", "FAILED", "WRONG", "make_parser"]

DONE, FAILED, WRONG, DIFFERENT, CONFLICT, DAMAGE = range(6)
"""The exit statuses of the program."""
_Run = Callable[[Any, argparse.Namespace, Mapping[str, Any]], Any]
_Subparsers = Any  # argparse has no public name for it


def make_parser() -> argparse.ArgumentParser:
    """Create the parser."""
    made = argparse.ArgumentParser(
        prog="omnigraph-spark",
        description="Work on a whole graph that a Spark cluster does.",
        epilog='With spark-submit: spark-submit "$(omnigraph-spark --where)" <job> …',
    )
    made.add_argument("--where", action=_Where, help="print the file for spark-submit")
    listed = made.add_subparsers(title="jobs", dest="job", metavar="<job>", required=True)
    for add in (_load, _merge, _diff, _verify, _optimize, _export):
        add(listed)
    return made


def _load(listed: _Subparsers) -> None:
    def run(spark: Any, args: argparse.Namespace, common: Mapping[str, Any]) -> Any:
        from omnigraph_spark import jobs

        return jobs.load(
            spark, args.repository, args.mapping, branch=args.branch, base=args.base,
            rejects=args.rejects, max_rejects=args.max_rejects, actor=args.actor,
            message=args.message, operation_hash=args.operation_hash, **common,
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
    def run(spark: Any, args: argparse.Namespace, common: Mapping[str, Any]) -> Any:
        from omnigraph_spark import jobs

        return jobs.merge(
            spark, args.repository, args.source, args.into, strategy=args.strategy,
            dry_run=args.dry_run, actor=args.actor, message=args.message, **common,
        )  # fmt: skip

    job = _job(listed, "merge", "bring the changes of a branch into another one", run)
    job.add_argument("source", help="a branch, a tag or a commit")
    job.add_argument("--into", default="main", help="the branch that is changed (main)")
    job.add_argument("--strategy", choices=("error", "ours", "theirs"), default="error")
    job.add_argument("--dry-run", action="store_true", help="write nothing, only report")
    _author(job)


def _diff(listed: _Subparsers) -> None:
    def run(spark: Any, args: argparse.Namespace, common: Mapping[str, Any]) -> Any:
        from omnigraph_spark import jobs

        return jobs.diff(
            spark, args.repository, args.before, args.after, tables=args.tables,
            out=args.out, format=args.format, overwrite=args.overwrite, **common,
        )  # fmt: skip

    def judge(report: DiffReport, args: argparse.Namespace) -> int:
        return DIFFERENT if args.exit_code and not report.is_empty else DONE

    job = _job(listed, "diff", "compare two snapshots", run, judge)
    job.add_argument("before", help="a branch, a tag or a commit")
    job.add_argument("after", help="another one")
    job.add_argument("--out", help="write the rows to this folder")
    job.add_argument("--format", choices=DIFF_FORMATS, default="parquet")
    job.add_argument("--overwrite", action="store_true", help="replace existing files")
    job.add_argument("--exit-code", action="store_true", help="end with 3 where they differ")
    _tables(job)


def _verify(listed: _Subparsers) -> None:
    def run(spark: Any, args: argparse.Namespace, common: Mapping[str, Any]) -> Any:
        from omnigraph_spark import jobs

        return jobs.verify(
            spark, args.repository, tables=args.tables, dangling_edges=args.dangling_edges,
            duplicates=not args.no_duplicates, values=args.values, **common,
        )  # fmt: skip

    def judge(report: VerifyReport, _: argparse.Namespace) -> int:
        from omnigraph_l2.reports import Severity

        damaged = any(each.severity is Severity.ERROR for each in report.findings)
        return DAMAGE if damaged else DONE

    job = _job(listed, "verify", "check all that should hold", run, judge)
    _tables(job)
    job.add_argument("--dangling-edges", action="store_true", help="look up the ends of all edges")
    job.add_argument("--no-duplicates", action="store_true", help="do not read ids")
    job.add_argument("--values", action="store_true", help="read every value")


def _optimize(listed: _Subparsers) -> None:
    def run(spark: Any, args: argparse.Namespace, common: Mapping[str, Any]) -> Any:
        from omnigraph_spark import jobs

        return jobs.optimize(
            spark, args.repository, tables=args.tables, branch=args.branch,
            actor=args.actor, message=args.message, **common,
        )  # fmt: skip

    job = _job(listed, "optimize", "merge small fragments, and keep indexes up", run)
    job.add_argument("--branch", default="main")
    _tables(job)
    _author(job)


def _export(listed: _Subparsers) -> None:
    def run(spark: Any, args: argparse.Namespace, common: Mapping[str, Any]) -> Any:
        from omnigraph_spark import jobs

        return jobs.export(
            spark, args.repository, args.out, branch=args.branch, version=args.version,
            commit=args.commit, as_of=args.as_of, tag=args.tag, tables=args.tables,
            format=args.format, overwrite=args.overwrite, **common,
        )  # fmt: skip

    job = _job(listed, "export", "write tables as files that every program reads", run)
    job.add_argument("out", help="a folder, anywhere that Spark can write to")
    job.add_argument("--format", choices=tuple(FORMATS), default="parquet")
    job.add_argument("--overwrite", action="store_true", help="replace existing files")
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
    job.add_argument("repository", help="its location: a folder, or s3://…")
    several: dict[str, Any] = {
        "action": "append",
        "default": [],
        "type": _parse_pair,
        "metavar": "KEY=VALUE",
    }
    common = job.add_argument_group("for every job")
    common.add_argument("--storage", help="an option of the store; it also reads AWS_…", **several)
    common.add_argument("--master", help="where Spark runs, as in local[4] or spark://…")
    common.add_argument("--conf", help="a setting of Spark", **several)
    common.add_argument("--json", action="store_true", help="give the report as JSON")
    common.add_argument("--quiet", action="store_true", help="print no progress")
    return job


def _tables(job: argparse.ArgumentParser) -> None:
    job.add_argument(
        "--table", action="append", dest="tables", metavar="KEY",
        help="only this table, as in node:Person; may be repeated",
    )  # fmt: skip


def _author(job: argparse.ArgumentParser) -> None:
    job.add_argument("--actor", help="who makes the change")
    job.add_argument("--message", help="why")


def _parse_pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        wanted = "expected KEY=VALUE; the value is not shown, it may be a secret"
        raise argparse.ArgumentTypeError(wanted)
    return key, value


class _Where(argparse.Action):
    """Prints the path of the program and exits."""

    def __init__(self, option_strings: list[str], dest: str, **kwargs: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **kwargs)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        location = Path(__file__).parents[1] / "__main__.py"
        sys.stdout.write(f"{location}\n")
        parser.exit()
