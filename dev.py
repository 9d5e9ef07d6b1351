#!/usr/bin/env python3
"""Run this project from a fresh checkout, with nothing but Python 3.11 or later and its venv.

    python3 dev.py demo     show what it does, on your own disk
    python3 dev.py test     pass all checks and tests, as CI does
    python3 dev.py nox ...  anything else that the noxfile knows (nox --list)

It makes .venv with nox in it, once, and then only calls nox. It is written for old Pythons too,
so that they get a sentence instead of a syntax error.
"""

from __future__ import print_function

import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(HERE, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
OLDEST = (3, 11)
# Where Linux keeps the certificates that the system trusts; macOS has them in its keychain.
SYSTEM_CERTIFICATES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
TASKS = {"demo": ["-s", "demo"], "test": [], "nox": []}


def fail(problem, remedy):
    """Say what is missing and how to get it."""
    print("dev.py: {0}\n        {1}".format(problem, remedy), file=sys.stderr)
    sys.exit(1)


def check_python():
    """Refuse a Python that cannot run the project."""
    if sys.version_info < OLDEST:
        found = "{0}.{1}".format(*sys.version_info[:2])
        fail(
            "Python 3.11 or later is needed; this is {0}.".format(found),
            "Debian, Ubuntu: sudo apt-get install python3 python3-venv; macOS: brew install "
            "python; then: python3 dev.py {0}".format(" ".join(sys.argv[1:])),
        )
    try:
        import ensurepip  # noqa: F401, PLC0415
        import venv  # noqa: F401, PLC0415
    except ImportError:
        fail(
            "this Python has no venv module.",
            "Debian, Ubuntu: sudo apt-get install python3-venv; Fedora: it is part of python3",
        )


def certificates(environment):
    """Return variables with which pip and uv trust the certificates that this environment names.

    pip reads PIP_CERT and those of requests; uv reads only SSL_CERT_FILE and SSL_CERT_DIR, and
    trusts the certificates of the system only if UV_SYSTEM_CERTS says so.
    """

    def first(*names):
        return next((environment[name] for name in names if environment.get(name)), None)

    found = {}
    for_pip = first("PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    if for_pip and not first("SSL_CERT_FILE", "SSL_CERT_DIR"):
        found["SSL_CERT_DIR" if os.path.isdir(for_pip) else "SSL_CERT_FILE"] = for_pip
    if not for_pip and first("SSL_CERT_FILE", "SSL_CERT_DIR"):
        found["REQUESTS_CA_BUNDLE"] = first("SSL_CERT_FILE", "SSL_CERT_DIR")
    kept = sys.platform == "darwin" or any(map(os.path.exists, SYSTEM_CERTIFICATES))
    if kept and not first("UV_SYSTEM_CERTS", "UV_NATIVE_TLS"):
        found["UV_SYSTEM_CERTS"] = "true"
    return found


def prepare():
    """Make .venv with nox in it; a second time this takes no time."""
    marker = os.path.join(VENV, "ready")
    constraints = os.path.join(HERE, "constraints.txt")
    with open(constraints) as file:
        wanted = file.read()
    if os.path.exists(marker):
        with open(marker) as file:
            if file.read() == wanted and os.path.exists(PYTHON):
                return
    print("dev.py: preparing .venv", file=sys.stderr)
    pip = [PYTHON, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    try:
        subprocess.check_call([sys.executable, "-m", "venv", "--clear", VENV])
        subprocess.check_call(pip + ["--constraint", constraints, "nox", "uv"])
    except subprocess.CalledProcessError as error:
        fail(
            "this failed: {0}".format(" ".join(error.cmd)),
            "Its own words are above. It needs the package index that pip is set up for, and a "
            "directory that can be written. Then: python3 dev.py {0}".format(
                " ".join(sys.argv[1:])
            ),
        )
    with open(marker, "w") as file:
        file.write(wanted)


def call(command):
    """Run it. Ctrl-C reaches it, too; wait until it has ended."""
    # An exception could come before the process has a name here, and leave it alone. So the signal
    # does nothing; unlike SIG_IGN, which a background run has, that is not handed down.
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)
    return subprocess.call(command)


def main():
    """Do the task that was named."""
    task = sys.argv[1] if len(sys.argv) > 1 else ""
    if task not in TASKS:
        print(__doc__)
        return 2
    check_python()
    os.environ.update(certificates(os.environ))
    prepare()
    os.environ["PATH"] = os.path.dirname(PYTHON) + os.pathsep + os.environ.get("PATH", "")
    command = [PYTHON, "-m", "nox", "--noxfile", os.path.join(HERE, "noxfile.py")]
    return call(command + TASKS[task] + sys.argv[2:])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
