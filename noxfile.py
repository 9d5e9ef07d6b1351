"""What can be done with this checkout. Bare ``nox`` does what CI does; ``nox --list`` shows all.

Most sessions run in one environment that has all packages and tools: it is installed once, and a
later run uses it again. Versions are those of ``constraints.txt``.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
import time
from pathlib import Path

import nox

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
nox.options.stop_on_first_error = True
nox.options.sessions = [
    "lint", "types", "checks", "packaging", "docs", "site", "tests", "spark",
]  # fmt: skip

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))
from dev import certificates  # noqa: E402  # nox does not run in the folder of this file

os.environ.update(certificates(os.environ))
CONSTRAINTS = str(ROOT / "constraints.txt")
L1, L2, SPARK, TESTING = (
    ROOT / "packages" / f"omnigraph-{name}" for name in ("l1", "l2", "spark", "testing")
)
PARALLEL = ("-n", "2", "--dist", "worksteal")
WAITING = ("-n", "4", "--dist", "worksteal", "--durations=15")
"""For two cores: these tests wait for disks, servers and other processes half of the time."""

IN_GROUPS = ("-n", "2", "--dist", "loadgroup")
TOOLS = (
    "boto3", "build", "duckdb", "fastapi", "furo", "hatchling", "httpx", "hypothesis", "lancedb",
    "mypy", "myst-parser", "networkx", "pandas", "polars", "pyspark[connect]", "pytest",
    "pytest-xdist", "rustworkx", "sphinx", "uv", "uvicorn",
)  # fmt: skip
# Spark has a session of its own.
REST = ("packages", "campaign", f"--ignore={SPARK.relative_to(ROOT)}")
PYTHON_FILES = ("packages", "campaign", "checks", "docs", "noxfile.py", "dev.py")
WITH_BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}
"""Tests start hundreds of processes. Without bytecode, each compiles all that it imports."""

PINNED = "test_the_version_that_was_looked_at_is_the_one_that_runs"
"""A test that asks for the version in constraints.txt."""

BIN = ROOT / ".nox" / "environment" / "bin"


def install(session: nox.Session, *packages: str, tools: tuple[str, ...] = ()) -> None:
    """Install packages of ours from the checkout, and tools, in the versions that CI runs."""
    session.env.update(WITH_BYTECODE)
    editable = [part for package in packages for part in ("--editable", package)]
    session.install("--constraint", CONSTRAINTS, *editable, *tools)


@nox.session(default=False)
def environment(session: nox.Session) -> None:
    """Install all packages and tools. Each session that needs them begins with this."""
    install(
        session,
        f"{L1}",
        f"{L2}[cli]",
        f"{TESTING}[graph,s3,moto]",
        f"{SPARK}[pyspark]",
        tools=TOOLS,
    )


in_environment = functools.partial(nox.session, venv_backend="none", requires=["environment"])


def run(session: nox.Session, program: str, *arguments: str, **variables: str) -> None:
    """Run a program of the environment."""
    session.env["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    session.env.update(WITH_BYTECODE)
    session.run(str(BIN / program), *arguments, external=True, env=variables)


@nox.session
def lint(session: nox.Session) -> None:
    """Format and lint. ``nox -s format`` mends what can be mended."""
    install(session, tools=("ruff",))
    session.run("ruff", "format", "--check", *PYTHON_FILES)
    session.run("ruff", "check", *PYTHON_FILES)


@nox.session(name="format", default=False)
def format_(session: nox.Session) -> None:
    """Bring the code into shape."""
    install(session, tools=("ruff",))
    session.run("ruff", "format", *PYTHON_FILES)
    session.run("ruff", "check", "--fix", *PYTHON_FILES)


@in_environment()
def types(session: nox.Session) -> None:
    """Check types, strictly, in all packages and in the files that show typed usage."""
    packages = [
        source.name for source in ROOT.glob("packages/*/src/*") if (source / "__init__.py").exists()
    ]
    run(session, "mypy", *(part for package in packages for part in ("-p", package)))
    for usage in sorted(ROOT.glob("packages/*/typed_usage.py")):  # each is a module of one name
        run(session, "mypy", str(usage))
    run(session, "mypy", "campaign", "--exclude", "campaign/tests")


@in_environment()
def checks(session: nox.Session) -> None:
    """Check the repository as a whole: layers, public names, house rules."""
    others = ("--ignore=checks/packaging", "--ignore=checks/docs")
    run(session, "pytest", *PARALLEL, "checks", *others, *session.posargs)


@in_environment()
def tests(session: nox.Session) -> None:
    """Run all tests but those of omnigraph-spark: ``unit``, ``integration`` and ``browser``."""
    get_chromium(session)
    run(session, "pytest", *WAITING, *REST, "-m", "not slow", *session.posargs)


@in_environment(default=False)
def unit(session: nox.Session) -> None:
    """Run the tests that need no server and no second process."""
    marked = "not (integration or browser or slow)"
    run(session, "pytest", *WAITING, *REST, "-m", marked, *session.posargs)


@in_environment(default=False)
def integration(session: nox.Session) -> None:
    """Run the tests against real S3 servers and with real processes."""
    run(session, "pytest", *WAITING, *REST, "-m", "integration and not slow", *session.posargs)


@in_environment(default=False)
def browser(session: nox.Session) -> None:
    """Look at the page of ``omnigraph explore`` in a real Chromium. Root on Debian gets it so."""
    get_chromium(session)
    explore = str(L2 / "tests" / "explore")
    run(session, "pytest", *PARALLEL, explore, "-m", "browser", *session.posargs)


def get_chromium(session: nox.Session) -> None:
    """Install Chromium where that can be done without asking; else say how."""
    known = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    if os.environ.get("OMNIGRAPH_CHROMIUM") or any(map(shutil.which, known)):
        return
    if os.geteuid() or not shutil.which("apt-get"):
        session.error(
            "No Chromium was found. Debian, Ubuntu: sudo apt-get install chromium · Fedora: sudo "
            "dnf install chromium · or name one: OMNIGRAPH_CHROMIUM=/path/to/chrome"
        )
    session.run("apt-get", "update", "--quiet", external=True)
    session.run(
        "apt-get", "install", "--quiet", "--yes", "--no-install-recommends", "chromium",
        external=True, env={"DEBIAN_FRONTEND": "noninteractive"},
    )  # fmt: skip


@in_environment()
def spark(session: nox.Session) -> None:
    """Run all tests of omnigraph-spark, and its documents: with Java, in two Spark sessions."""
    # One test starts several JVMs in a row.
    options = ("-o", "faulthandler_timeout=1800", "--durations=15")
    run(session, "pytest", *PARALLEL, *options, str(SPARK), "-m", "not slow", *session.posargs)
    if not session.posargs:
        run(session, "pytest", *PARALLEL, "checks/docs", "-m", "spark")


@in_environment(default=False)
def nightly(session: nox.Session) -> None:
    """Run every test at full size."""
    patience = ("-o", "faulthandler_timeout=3600")
    run(
        session,
        "pytest",
        *patience,
        "packages",
        "campaign",
        *session.posargs,
        OMNIGRAPH_FULL_SIZE="1",
    )


@nox.session(default=False)
@nox.parametrize("bound", ["oldest", "newest"])
def pylance(session: nox.Session, bound: str) -> None:
    """Run the tests of omnigraph-l1 and -l2 with the oldest or newest pylance that l1 allows."""
    allowed = re.search(r'"pylance>=([\d.]+),(<\d+)"', (L1 / "pyproject.toml").read_text())
    if allowed is None:
        session.error("omnigraph-l1 gives no range of pylance")
    tools = ("boto3", "hypothesis", "pandas", "polars", "pytest", "pytest-xdist")
    install(session, f"{L1}", f"{L2}[cli]", f"{TESTING}[graph,s3,moto]", tools=tools)
    session.install(
        *(f"pylance=={allowed[1]}",) if bound == "oldest" else ("--upgrade", f"pylance{allowed[2]}")
    )
    session.run(
        "pytest", *PARALLEL, str(L1), str(L2), f"--ignore={L2 / 'tests' / 'interop'}",
        "--deselect", f"{L1.relative_to(ROOT)}/tests/conflicts/test_deviations.py::{PINNED}",
        "-m", "not (integration or browser or slow)", *session.posargs,
    )  # fmt: skip


@in_environment()
def packaging(session: nox.Session) -> None:
    """Build the four wheels, and prove each in an environment with nothing else in it."""
    built = ROOT / ".nox" / "wheels"
    shutil.rmtree(built, ignore_errors=True)
    # uv knows a wheel by its path: it would install the one that an earlier run built.
    wheels = built / str(time.time_ns())
    for package in (L1, L2, SPARK, TESTING):
        build = ("-m", "build", "--no-isolation", "--wheel", "--outdir", str(wheels), str(package))
        run(session, "python", *build)
    run(session, "pytest", *PARALLEL, "checks/packaging", OMNIGRAPH_WHEELS=str(wheels))


@in_environment()
def docs(session: nox.Session) -> None:
    """Run each block of code in README and docs and the examples, and follow each link.

    Those about Spark are run by ``nox -s spark``.
    """
    tested = ("checks/docs", "docs/examples", "-m", "not spark")
    run(session, "pytest", *IN_GROUPS, *tested, *session.posargs)


@in_environment()
def site(session: nox.Session) -> None:
    """Build the docs as a site, in site/. Warnings are errors; nothing comes from elsewhere."""
    shutil.rmtree(ROOT / "site", ignore_errors=True)
    build = ("-E", "-q", "-W", "--keep-going", "docs", "site")
    run(session, "python", "-m", "sphinx", *build)
    run(session, "python", "checks/site.py", "site")


@nox.session(default=False)
def demo(session: nox.Session) -> None:
    """Show what the project does, on local disk, and with Spark where Java is."""
    install(session, f"{L1}", f"{L2}[cli]")
    java = "JAVA_HOME" in os.environ or shutil.which("java")
    if java and "--no-spark" not in session.posargs:
        session.log("Java is here, so Spark is shown, too. The first time it is a download of")
        session.log("about 450 MB; to go without: python3 dev.py demo -- --no-spark")
        install(session, f"{SPARK}[pyspark]")
    session.run("python", "docs/examples/demo", *session.posargs)
