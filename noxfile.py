"""What can be done with this checkout. Bare ``nox`` does what CI does; ``nox --list`` shows all.

Each session has an environment of its own, which a later run uses again. Versions are those of
``constraints.txt``.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
nox.options.stop_on_first_error = True
nox.options.sessions = [
    "lint", "types", "checks", "unit", "packaging", "docs", "site", "interop", "browser",
    "integration", "spark",
]  # fmt: skip

ROOT = Path(__file__).parent
CONSTRAINTS = str(ROOT / "constraints.txt")
L1, L2, SPARK, TESTING = (
    ROOT / "packages" / f"omnigraph-{name}" for name in ("l1", "l2", "spark", "testing")
)
# With the program omnigraph.
L2_CLI = Path(f"{L2}[cli]")
PARALLEL = ("-n", "2", "--dist", "worksteal")
TEST_TOOLS = ("pytest", "pytest-xdist", "hypothesis", "boto3", "pandas", "polars")
INTEROP = L2 / "tests" / "interop"
INTEROP_TOOLS = ("duckdb", "networkx", "rustworkx", "lancedb", "fastapi", "uvicorn", "httpx")
# Spark, and what only few tests need, are installed for sessions of their own.
REST = ("packages", *(f"--ignore={path.relative_to(ROOT)}" for path in (SPARK, INTEROP)))
SPARK_TOOLS = ("networkx", "pyspark[connect]")
PYTHON_FILES = ("packages", "checks", "docs", "noxfile.py", "dev.py")


def install(session: nox.Session, *packages: Path, tools: tuple[str, ...] = ()) -> None:
    """Install packages of ours from the checkout, and tools, in the versions that CI runs."""
    editable = [part for package in packages for part in ("--editable", str(package))]
    session.install("--constraint", CONSTRAINTS, *editable, *tools)


def install_tested(session: nox.Session) -> None:
    """Install what tests need: everything but Spark, and both S3 servers."""
    install(session, L1, L2_CLI, Path(f"{TESTING}[s3,moto]"), tools=TEST_TOOLS)


def install_with_spark(session: nox.Session) -> None:
    """Install the same, with Spark and what its results are compared with."""
    install(session, L1, L2_CLI, SPARK, Path(f"{TESTING}[s3]"), tools=(*TEST_TOOLS, *SPARK_TOOLS))


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


@nox.session
def types(session: nox.Session) -> None:
    """Check types, strictly, in all four packages and in the files that show typed usage."""
    install(session, L1, L2_CLI, TESTING, SPARK, tools=("mypy", "boto3"))
    for package in (L1, L2, TESTING, SPARK):
        session.run("mypy", "-p", package.name.replace("-", "_"))
        session.run("mypy", str(package / "typed_usage.py"))
    session.run("mypy", "-p", "pyspark_omnigraph")


@nox.session
def checks(session: nox.Session) -> None:
    """Check the repository as a whole: layers, public names, house rules."""
    install(session, L1, L2_CLI, TESTING, SPARK, tools=("pytest",))
    others = ("--ignore=checks/packaging", "--ignore=checks/docs")
    session.run("pytest", "checks", *others, *session.posargs)


@nox.session
def unit(session: nox.Session) -> None:
    """Run the tests that need no server and no second process."""
    install_tested(session)
    session.run(
        "pytest", *PARALLEL, *REST, "-m", "not (integration or browser or slow)",
        *session.posargs,
    )  # fmt: skip


@nox.session
def integration(session: nox.Session) -> None:
    """Run the tests against real S3 servers and with real processes."""
    install_tested(session)
    session.run("pytest", *PARALLEL, *REST, "-m", "integration and not slow", *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """Look at the page of ``omnigraph explore`` in a real Chromium. Root on Debian gets it so."""
    install(session, L1, L2, TESTING, tools=("pytest",))
    get_chromium(session)
    session.run("pytest", str(L2 / "tests" / "explore"), "-m", "browser", *session.posargs)


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


@nox.session
def spark(session: nox.Session) -> None:
    """Run all tests of omnigraph-spark, and its documents: with Java, on two cores."""
    install_with_spark(session)
    patience = ("-o", "faulthandler_timeout=1800")  # one test starts five JVMs in a row
    session.run("pytest", *patience, str(SPARK), "-m", "not slow", *session.posargs)
    if not session.posargs:
        session.run("pytest", "checks/docs", "-m", "spark")


@nox.session(default=False)
def nightly(session: nox.Session) -> None:
    """Run every test at full size."""
    install_with_spark(session)
    session.install("--constraint", CONSTRAINTS, *INTEROP_TOOLS)
    patience = ("-o", "faulthandler_timeout=3600")
    full_size = {"OMNIGRAPH_FULL_SIZE": "1"}
    session.run("pytest", *patience, "packages", *session.posargs, env=full_size)


@nox.session
def packaging(session: nox.Session) -> None:
    """Build the four wheels, and prove each in an environment with nothing else in it."""
    install(session, tools=("pytest", "build", "hatchling", "uv"))
    wheels = Path(session.virtualenv.location) / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    for package in (L1, L2, SPARK, TESTING):
        session.run(
            "python", "-m", "build", "--no-isolation", "--wheel", "--outdir", str(wheels),
            str(package), silent=True,
        )  # fmt: skip
    session.run("pytest", "checks/packaging", env={"OMNIGRAPH_WHEELS": str(wheels)})


@nox.session
def docs(session: nox.Session) -> None:
    """Run each block of code in README and docs, and follow each link.

    Those about Spark are run by ``nox -s spark``, those about other tools by ``nox -s interop``.
    """
    install_tested(session)
    session.run("pytest", "checks/docs", "-m", "not spark and not interop", *session.posargs)


@nox.session
def interop(session: nox.Session) -> None:
    """Try the tools that people use, and the examples: a service, a notebook, tests elsewhere."""
    install(session, L1, L2_CLI, Path(f"{TESTING}[s3]"), tools=(*TEST_TOOLS, *INTEROP_TOOLS))
    session.run("pytest", str(INTEROP), "docs/examples", *session.posargs)
    if not session.posargs:
        session.run("pytest", "checks/docs", "-m", "interop")


@nox.session
def site(session: nox.Session) -> None:
    """Build the docs as a site, in site/. Warnings are errors; nothing comes from elsewhere."""
    if sys.version_info < (3, 11):
        session.skip("Sphinx needs Python 3.11")
    install(session, L1, L2_CLI, TESTING, SPARK, tools=("sphinx", "myst-parser", "furo"))
    shutil.rmtree(ROOT / "site", ignore_errors=True)
    session.run("python", "-m", "sphinx", "-E", "-q", "-W", "--keep-going", "docs", "site")
    session.run("python", "checks/site.py", "site")


@nox.session(default=False)
def demo(session: nox.Session) -> None:
    """Show what the project does, on local disk, and with Spark where Java is."""
    install(session, L1, L2_CLI)
    java = "JAVA_HOME" in os.environ or shutil.which("java")
    if java and "--no-spark" not in session.posargs:
        session.log("Java is here, so Spark is shown, too. The first time it is a download of")
        session.log("about 450 MB; to go without: python3 dev.py demo -- --no-spark")
        install(session, SPARK)
    session.run("python", "docs/examples/demo", *session.posargs)
