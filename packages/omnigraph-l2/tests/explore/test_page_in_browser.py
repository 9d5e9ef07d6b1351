"""The page in a real browser, served and as a file.

Invariant: no request leaves this machine, the console is empty, and no text of a repository runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium_driver import Browser, Page
from page_access import Server, serve, write_page
from sample_graphs import HOSTILE, HOSTILE_NAME, KNOWS, PERSON, commit_on, person, schema

from omnigraph_l2 import Repository

QUIET = "!document.querySelector('[aria-busy]')"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Open a page; in the end nothing may have been wrong in it."""
    page = browser.page()
    page.look(width=1280, height=900)
    yield page
    assert page.problems == []
    page.close()


@pytest.fixture
def server(repo: Repository) -> Iterator[Server]:
    """Serve the story."""
    with serve(repo) as server:
        yield server


@pytest.fixture(params=["served", "file"])
def url(request: pytest.FixtureRequest, repo: Repository, tmp_path: Path) -> Iterator[str]:
    """Return the address of the story: of a server, and of a file."""
    if request.param == "file":
        yield write_page(repo, tmp_path / "page.html").as_uri()
    else:
        with serve(repo) as server:
            yield server.url


def choose(page: Page, commit_id: str) -> None:
    """Click on a commit."""
    page.click(f'.commit-button[data-id="{commit_id}"]')
    page.wait_for(f'.commit-button[data-id="{commit_id}"][aria-current="true"]')


def turn_to(page: Page, panel: str) -> None:
    """Click on a tab, and wait until its panel is there."""
    page.click(f"#tab-{panel}")
    page.wait(f"document.body.dataset.panel === '{panel}' && {QUIET}")


def back_to_main(page: Page) -> None:
    """Leave an old commit, and wait until nothing moves any more."""
    page.click("#looking button", "Back to main")
    page.wait(f"!document.querySelector('#looking .back') && {QUIET}")


def expect(page: Page, words: str) -> None:
    """Let the console have what it says of an answer that is an error, and nothing else."""
    assert page.problems
    assert [each for each in page.problems if words not in each] == []
    page.problems.clear()


def test_every_panel(page: Page, url: str, commits: dict[str, str]) -> None:
    """The history with its branches and tags, and at any commit its changes, tables, rows, schema;
    the result of verify. Nothing is asked of anybody else.
    """
    page.open(url)
    page.wait_for(".commit-button[aria-current]")
    assert len(page.texts(".commit")) == len(commits)
    assert page.texts(".label.branch") == ["main", "what-if"]
    assert page.texts(".label.tag") == ["v1"]

    choose(page, commits["main"])
    page.wait_for("#panel h2", "Ann moves, Cat goes")
    page.wait_for(".changed-head", "1 updated")
    page.wait_for(".changed-head", "1 deleted")
    page.click(".opener", "Person")
    page.wait_for("tr.update del", "Oslo")
    page.wait_for("tr.update ins", "Riga")
    page.wait_for("tr.delete", "Cat")

    turn_to(page, "tables")
    page.wait_for(".tables tbody tr", "Person")
    page.wait_for('.spark[aria-label^="from 0 rows"]')
    assert page.texts(".tables tbody tr:first-child td.number")[0] == "2"

    page.click(".tables button", "Rows")
    page.wait_for("table.rows tbody tr", "Riga")
    assert len(page.texts("table.rows tbody tr")) == 2
    choose(page, commits["first"])
    page.wait_for("table.rows tbody tr", "Cat")
    assert len(page.texts("table.rows tbody tr")) == 3

    turn_to(page, "schema")
    page.wait_for(".picture .box-name", "Person")
    page.wait_for(".picture .edge-label", "Knows")
    assert "age" not in page.texts(".picture .property")
    page.choose("#moment", "branch:main")
    page.wait_for(".picture .property", "age")

    turn_to(page, "verify")
    if url.startswith("http:"):
        page.click(".verify-form button")
    page.wait_for(".verdict", "No problems were found.")

    page.choose("#moment", "tag:v1")
    turn_to(page, "changes")
    page.wait_for("#panel h2", "first load")
    page.wait_for(".body", "from the old books")
    back_to_main(page)
    page.wait_for("#panel h2", "Bob is 40")
    own = url if url.startswith("http:") else "file:"
    assert page.requests
    assert [each for each in page.requests if not each.startswith((own, "data:"))] == []


def test_the_graph_can_be_walked_by_keys(page: Page, server: Server) -> None:
    """Down and up through the commits, Enter chooses; left and right through the tabs."""
    page.open(server.url)
    page.wait_for(".commit-button[aria-current]")
    page.run("document.querySelector('.commit-button').focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "Enter"):
        page.press(key)
    second = page.run("document.querySelectorAll('.commit-button')[1].dataset.id")
    page.wait_for(f'.commit-button[data-id="{second}"][aria-current="true"]')
    page.run("document.querySelector('[role=tab][aria-selected=true]').focus()")
    page.press("ArrowRight")
    page.wait_for("#tab-tables[aria-selected=true]")
    assert page.run("document.activeElement.id") == "tab-tables"


def test_going_back_and_reloading(page: Page, server: Server, commits: dict[str, str]) -> None:
    """The address says what is looked at."""
    page.open(server.url)
    page.wait_for(".commit-button[aria-current]")
    choose(page, commits["first"])
    turn_to(page, "tables")
    page.run("history.back()")
    page.wait_for("#panel h2", "first load")
    page.call("Page.reload")
    page.wait_for("#panel h2", "first load")
    page.wait_for(f'.commit-button[data-id="{commits["first"]}"][aria-current="true"]')


def test_rows_by_a_filter(page: Page, server: Server) -> None:
    """A filter shows what matches; a wrong one its error, and the way back is there."""
    page.open(f"{server.url}#rows?table={PERSON}&at=tag:v1")
    page.wait_for("table.rows tbody tr", "Cat")
    page.type("#filter", "city = 'Rome'")
    page.press("Enter")
    page.wait_for(".summary", "1 row found")
    assert page.texts("table.rows tbody .key") == ["bob"]
    page.type("#filter", "city = = 'Rome'")
    page.click(".rows-form button", "Filter")
    page.wait_for(".problem .problem-kind", "invalid_filter")
    expect(page, "status of 400")
    page.click(".rows-form button", "All rows")
    page.wait_for(".summary", "3 rows")
    page.choose("#table", KNOWS)
    page.wait_for("table.rows tbody tr", "2019")


def test_data_of_a_deleted_branch_is_reported(
    page: Page, server: Server, commits: dict[str, str]
) -> None:
    """Its commit is shown; its data is gone, and that is said."""
    page.open(server.url)
    choose(page, commits["aside"])
    page.wait_for("#panel h2", "Dan comes")
    page.wait_for(".problem .problem-kind", "snapshot_expired")
    expect(page, "status of 404")


def test_new_commits_come_by_refresh(page: Page, tmp_path: Path) -> None:
    """New commits are shown after a click; many commits come page by page."""
    with Repository.init(tmp_path / "graph", schema(), durability="none") as repo:
        for n in range(101):
            commit_on(repo, "main", f"number {n}", people=[person(f"P{n}")])
        with serve(repo) as server:
            page.open(server.url)
            page.wait_for("#history-count", "the newest 100 commits")
            page.click("#older button")
            page.wait_for("#history-count", "102 commits")
            commit_on(repo, "main", "just now", people=[person("Now")])
            page.click("#looking button", "Refresh")
            page.wait_for("#panel h2", "just now")
            turn_to(page, "rows")
            page.wait_for(".summary", "50 rows of 102")
            page.click(".pages button", "Next rows")
            page.wait_for(".pages button", "Back")
            page.click(".pages button", "Next rows")
            page.wait_for(".summary", "2 rows of 102")


def test_a_stopped_server_is_reported(page: Page, repo: Repository) -> None:
    """The page says so, and does not break."""
    with serve(repo) as server:
        page.open(server.url)
        page.wait_for(".commit-button[aria-current]")
    turn_to(page, "tables")
    page.wait_for(".problem .problem-kind", "no_answer")
    expect(page, "ERR_CONNECTION_REFUSED")


@pytest.mark.parametrize("kind", ["served", "file"])
def test_nothing_of_a_repository_runs(
    page: Page, hostile_repo: Repository, tmp_path: Path, kind: str
) -> None:
    """Names and values that are scripts, markup or tricks are shown as what they are."""
    # It would be called by a script of theirs; a dialog or an error would be noted as well.
    page.call("Page.addScriptToEvaluateOnNewDocument", source="window.hits = 0; hit = () => hits++")
    with serve(hostile_repo) as server:
        file = write_page(hostile_repo, tmp_path / "page.html")
        page.open(server.url if kind == "served" else file.as_uri())
        page.wait_for(".commit-button[aria-current]")
        assert len(page.texts(".commit")) == len(HOSTILE) + 2
        for number in (*range(1, len(HOSTILE)), 0):  # each is another one than is shown before
            commit = f"document.querySelectorAll('.commit-button')[{number}]"
            page.run(f"{commit}.click()")
            page.wait(f"{commit}.ariaCurrent === 'true' && {QUIET}")
            page.wait_for(".opener")
            page.run("document.querySelectorAll('.opener').forEach((each) => each.click())")
            page.wait(f"{QUIET} && document.querySelector('table.rows')")
        back_to_main(page)
        for panel in ("tables", "rows", "schema", "verify"):
            turn_to(page, panel)
            if panel == "rows":
                page.wait_for("table.rows tbody tr")
                shown = "\n".join(page.texts("table.rows td.key"))
                assert all(text in shown for text in HOSTILE[1:6])
                assert "⟨U+202E⟩gnp.exe" in shown
                assert "⟨U+0001⟩⟨U+0007⟩⟨U+001B⟩[31mred" in shown
                assert HOSTILE[1] in page.texts("table.rows thead .type + *, table.rows td")
            if panel == "schema":
                assert page.texts(".picture .box title, .picture .box-name")
                assert HOSTILE_NAME in "\n".join(page.texts(".type-card h3"))
        assert page.run("window.hits") == 0
        assert page.run("document.querySelectorAll('img, iframe, object, [onerror]').length") == 0
        assert page.run("document.scripts.length") == (1 if kind == "served" else 2)
        assert page.run("document.querySelector('.waiting')") is None
        assert not [
            each for each in page.requests if not each.startswith((server.url, "file:", "data:"))
        ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_any_screen(page: Page, server: Server, width: int, scheme: str) -> None:
    """On a phone and on a desk, light and dark: nothing is wider than the screen, and texts have
    the contrast that WCAG asks for (4.5 to 1).
    """
    page.look(width=width, height=800, dark=scheme == "dark")
    page.open(server.url)
    page.wait_for(".commit-button[aria-current]")
    for panel in ("history", "changes", "tables", "rows", "schema", "verify"):
        if panel == "history" and width > 1000:
            assert page.run("document.querySelector('#tab-history').offsetParent") is None
            continue
        turn_to(page, panel)
        assert page.run("document.documentElement.scrollWidth") <= width
        assert page.run(_CONTRAST) == []


# Every text that is seen, against the nearest background behind it.
_CONTRAST = """(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = rgba(getComputedStyle(at).backgroundColor);
      if (found[3] > 250) return found;
    }
    return [255, 255, 255, 255];
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest('svg, option, .aside, .skip, noscript')) continue;
    const [one, other] = [light(rgba(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) poor.push(`${walker.currentNode.data.trim()} ${ratio.toFixed(2)}`);
  }
  return poor;
})()"""
