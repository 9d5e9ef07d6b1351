"""A real Chromium, driven over its own protocol through a pipe: nothing has to be installed for it.

Invariant: it sees what a user sees and does what a user does (mouse, keys); it notes every request,
every error of a page and every word on its console.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from queue import Empty, Queue
from typing import Any

__all__ = ["Browser", "BrowserFailed", "Page", "chromium", "started"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_SECONDS = 60.0
_QUIET = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--mute-audio",
)
_AT_REST = f"""new Promise((done, fail) => {{
  const end = performance.now() + {_SECONDS * 1000 / 2:.0f};
  let before = null;
  const look = () => {{
    const element = FIND;
    element?.scrollIntoView({{block: 'center', inline: 'center', behavior: 'instant'}});
    const box = element?.getBoundingClientRect();
    const isBusy = document.querySelector('[aria-busy]');
    const now = box && !isBusy ? JSON.stringify(box) : null;
    if (now && now === before) done([box.x + box.width / 2, box.y + box.height / 2]);
    else if (performance.now() > end) fail(new Error('what is to be clicked on is never at rest'));
    else {{ before = now; requestAnimationFrame(look); }}
  }};
  look();
}})"""
"""Returns the centre of the element that ``FIND`` finds, when the page is idle and it rests."""
_KEYS = {"ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Enter": 13, "Tab": 9}


class BrowserFailed(AssertionError):
    """The browser, or a page in it, did not do what was asked."""


def chromium() -> str | None:
    """Find a browser; ``OMNIGRAPH_CHROMIUM`` names one."""
    named = os.environ.get("OMNIGRAPH_CHROMIUM")
    if named:
        return named
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


@contextmanager
def started() -> Iterator[Browser]:
    """Start a browser with a profile of its own, and end it, with all of its processes."""
    program = chromium()
    assert program is not None, "no Chromium was found"
    profile = tempfile.mkdtemp(prefix="omnigraph-browser-")
    to_read, written = os.pipe()
    read, to_write = os.pipe()
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    process = os.posix_spawn(
        program,
        [program, *_QUIET, *sandbox, f"--user-data-dir={profile}", "about:blank"],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            # Out of the way of 3 and 4 first, wherever the ends of the pipes are.
            (os.POSIX_SPAWN_DUP2, to_read, 103),
            (os.POSIX_SPAWN_DUP2, to_write, 104),
            (os.POSIX_SPAWN_DUP2, 103, 3),
            (os.POSIX_SPAWN_DUP2, 104, 4),
            (os.POSIX_SPAWN_CLOSE, 103),
            (os.POSIX_SPAWN_CLOSE, 104),
        ],
        setpgroup=0,
    )
    os.close(to_read)
    os.close(to_write)
    browser = Browser(read, written)
    try:
        yield browser
    finally:
        os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
        browser.close()
        shutil.rmtree(profile, ignore_errors=True)


class Browser:
    """Speaks with a browser: commands with their answers, and events as they come."""

    def __init__(self, read: int, written: int) -> None:
        self._read = os.fdopen(read, "rb", buffering=0)
        self._written = os.fdopen(written, "wb", buffering=0)
        self._numbers = count(1)
        self._answers: dict[int, Queue[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def page(self) -> Page:
        """Open an empty page."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        page = self._pages[session["sessionId"]] = Page(self, session["sessionId"], target)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        return page

    def call(
        self, method: str, params: dict[str, Any] | None = None, session: str | None = None
    ) -> dict[str, Any]:
        """Send a command and return its answer."""
        number = next(self._numbers)
        answers: Queue[dict[str, Any]] = Queue()
        self._answers[number] = answers
        message: dict[str, Any] = {"id": number, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = session
        self._written.write(json.dumps(message).encode() + b"\0")
        try:
            answer = answers.get(timeout=_SECONDS)
        except Empty:
            problem = f"{method} was not answered" + (", the browser ended" if self._ended else "")
            raise BrowserFailed(problem) from None
        if "error" in answer:
            problem = f"{method}: {answer['error']}"
            raise BrowserFailed(problem)
        found: dict[str, Any] = answer["result"]
        return found

    def close(self) -> None:
        """Let go of the pipes, after the browser has ended."""
        self._thread.join(_SECONDS)
        self._read.close()
        self._written.close()

    def _listen(self) -> None:
        rest = b""
        while part := self._read.read(1 << 20):
            *messages, rest = (rest + part).split(b"\0")
            for message in map(json.loads, messages):
                if "id" in message:
                    self._answers.pop(message["id"]).put(message)
                elif message.get("sessionId") in self._pages:
                    self._pages[message["sessionId"]].note(message["method"], message["params"])
        self._ended.set()


class Page:
    """One page, and what happened in it."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser = browser
        self._session = session
        self._target = target
        self.requests: list[str] = []
        """The addresses that the page asked, in order."""
        self.problems: list[str] = []
        """Errors and warnings on the console, and what was thrown."""

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command to this page."""
        return self._browser.call(method, params, self._session)

    def note(self, method: str, params: dict[str, Any]) -> None:
        """Take an event."""
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.requests.append(params["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(params["exceptionDetails"])[:2000])
        elif method == "Runtime.consoleAPICalled" and params["type"] in {"error", "warning"}:
            self.problems.append(json.dumps(params["args"])[:2000])
        elif method == "Log.entryAdded" and params["entry"]["level"] in {"error", "warning"}:
            self.problems.append(json.dumps(params["entry"])[:2000])
        elif method == "Page.javascriptDialogOpening":
            self.problems.append(f"a dialog: {params['message']}")

    def look(self, *, width: int, height: int, dark: bool = False, scale: float = 1) -> None:
        """Set the size of the page and the colour scheme of the system."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=scale, mobile=False,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, url: str) -> None:
        """Go to an address."""
        found = self.call("Page.navigate", url=url)
        if "errorText" in found:
            problem = f"{url}: {found['errorText']}"
            raise BrowserFailed(problem)

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page; wait for a promise."""
        found = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in found:
            problem = json.dumps(found["exceptionDetails"])[:2000]
            raise BrowserFailed(problem)
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until a condition holds in the page, at each of its changes; fail after a time."""
        # A page that is being loaded may go away under the question: then it is asked again.
        deadline = f"{_SECONDS * 1000 / 2:.0f}"
        script = (
            "new Promise((done, fail) => {"
            f"  const end = performance.now() + {deadline};"
            "  const look = () => {"
            f"    if ({condition}) done(true);"
            "    else if (performance.now() > end) done(false);"
            "    else setTimeout(look, 20);"
            "  };"
            "  look();"
            "})"
        )
        for _ in range(5):
            try:
                if self.run(script):
                    return
                break
            except BrowserFailed as error:
                if "context" not in str(error) and "navigated" not in str(error):
                    raise
        shown = self.run("document.body.innerText.slice(0, 3000)")
        problem = f"it never came to {condition}; the page says:\n{shown}\n{self.problems}"
        raise BrowserFailed(problem)

    def wait_for(self, selector: str, text: str = "") -> None:
        """Wait until there is such an element, whose text has these words."""
        self.wait(f"{_all(selector)}.some((e) => e.textContent.includes({json.dumps(text)}))")

    def texts(self, selector: str) -> list[str]:
        """Return the texts of elements as a user sees them."""
        found: list[str] = self.run(
            f"{_all(selector)}.map((e) => (e.innerText ?? e.textContent).trim())"
        )
        return found

    def click(self, selector: str, text: str = "") -> None:
        """Click on the first element of that kind that has these words, with the mouse."""
        self.wait_for(selector, text)
        find = f"{_all(selector)}.find((e) => e.textContent.includes({json.dumps(text)}))"
        location = self.run(_AT_REST.replace("FIND", find))
        where = {"x": location[0], "y": location[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, **where)

    def choose(self, selector: str, value: str) -> None:
        """Choose in a list, as a user does who has found the line."""
        self.wait_for(selector)
        self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            f"e.value = {json.dumps(value)}; if (e.value !== {json.dumps(value)}) "
            "throw new Error('no such line');"
            "e.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )

    def type(self, selector: str, text: str) -> None:
        """Click into a field, and write into it instead of what is there."""
        self.click(selector)
        self.run(f"document.querySelector({json.dumps(selector)}).select()")
        self.call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Press a key."""
        code = {"key": key, "code": key, "windowsVirtualKeyCode": _KEYS[key]}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **code)

    def picture(self, path: Path) -> None:
        """Write down what is seen."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """Close the page."""
        self._browser.call("Target.closeTarget", {"targetId": self._target})


def _all(selector: str) -> str:
    return f"[...document.querySelectorAll({json.dumps(selector)})]"
