"""What comes to be shown while a cleanup looks: it stays, though no lease tells of it any more."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from forced_order import meanwhile
from small_graph import PERSON, append, people
from upkeepwork import NOTHING

from omnigraph_l1 import failpoints
from omnigraph_l2 import Repository

MAKES: dict[str, tuple[str, Callable[[Repository], object]]] = {
    "branch": ("l2.branch.log_forked", lambda repo: repo.branches.create("side")),
    "tag": ("l2.tag.checked", lambda repo: repo.tags.create("tagged")),
    "merge": ("l2.merge.written", lambda repo: repo.branches.merge("main", "older")),
}


@pytest.mark.parametrize("kind", MAKES)
def test_what_comes_after_the_heads_were_read(
    repo: Repository, another: Repository, kind: str
) -> None:
    """Whoever made it has let go, and moved on, before its lease was read."""
    repo.branches.create("older")
    append(repo, "a")
    point, make = MAKES[kind]
    begun, go_on = threading.Event(), threading.Event()

    def make_and_move_on() -> None:
        make(another)
        assert people(another) == "b"
        another._leases.renew()

    making = threading.Thread(target=make_and_move_on)

    def wait_there(name: str) -> None:
        if threading.current_thread() is making and name == point:
            begun.set()
            assert go_on.wait(60)

    def end_it() -> None:
        go_on.set()
        making.join(60)
        assert not making.is_alive()

    with failpoints.handling(wait_there):
        making.start()
        assert begun.wait(60)
        with repo.transaction() as tx:
            tx.overwrite(PERSON, [{"id": "b", "age": 1}])
        with meanwhile("l2.cleanup.heads_read", end_it):
            repo.cleanup(NOTHING, dry_run=False)
    moment = {"branch": {"branch": "side"}, "tag": {"tag": "tagged"}, "merge": {"branch": "older"}}
    with Repository.open(repo.uri, repo._root.storage.lance_options, durability="none") as fresh:
        assert fresh.snapshot(**moment[kind]).read(PERSON)["id"].to_pylist() == ["a"]
