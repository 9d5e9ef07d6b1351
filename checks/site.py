"""Look whether the built site needs nothing from elsewhere: ``python checks/site.py site``.

Always: what a browser would load by itself (scripts, styles, fonts, images) is in the site.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path

_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
_ELSEWHERE = ("http://", "https://", "//")


class _Loads(HTMLParser):
    """Collects what a page loads from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an address that is loaded."""
        address = dict(attrs).get(_LOADED.get(tag, "")) or ""
        if address.startswith(_ELSEWHERE):
            self.found.append(address)


def main(site: Path) -> int:
    """Return 1, and print what, if any page loads something from elsewhere."""
    pages, found = sorted(site.rglob("*.html")), 0
    for page in pages:
        loads = _Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        for address in loads.found:
            print(f"{page} loads {address}", file=sys.stderr)  # noqa: T201
        found += len(loads.found)
    for sheet in site.rglob("*.css"):
        if "url(http" in sheet.read_text(encoding="utf-8").replace('"', "").replace("'", ""):
            print(f"{sheet} loads something from elsewhere", file=sys.stderr)  # noqa: T201
            found += 1
    print(f"{len(pages)} pages, {found} loads from elsewhere")  # noqa: T201
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
