"""The check of layers sees each kind of import: tried on small packages made for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from import_graph import PackageImports, find_cycle, proposed_tiers

LAYERS = 'LAYERS = (("_low", "_same"), ("_high",), ("errors",))\n'


def make(root: Path, **modules: str) -> PackageImports:
    """Write a package ``shop`` and read it; ``_low__price`` is its module ``_low/price.py``."""
    texts = {
        "_layers": LAYERS,
        "_low__price": "",
        "_same__tax": "",
        "_high__sale": "",
        "errors": "",
    }
    for name, text in (texts | modules).items():
        path = root / "shop" / (name.replace("__", "/", 1) + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for folder in [root / "shop", *(path for path in (root / "shop").iterdir() if path.is_dir())]:
        if not (folder / "__init__.py").exists():
            (folder / "__init__.py").touch()
    return PackageImports(root / "shop")


def write_facade(root: Path, text: str, name: str = "__init__.py") -> None:
    """Write what the package itself exports."""
    (root / "shop").mkdir()
    (root / "shop" / name).write_text(text)


def test_imports_of_lower_tiers_are_allowed(tmp_path: Path) -> None:
    """Down, and inside a folder."""
    package = make(
        tmp_path,
        _high__sale="from shop._low.price import x\nfrom shop._high import stock\nimport json\n",
        _high__stock="from .._same import tax\n",
        errors="import shop._high.sale\n",
    )
    assert package.violations() == []
    assert find_cycle(package.module_graph()) == []


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (1, "from shop._high.sale import x"),
        (1, "from shop._high import sale"),
        (1, "from shop import _high"),
        (1, "import shop._high.sale as x"),
        (1, "from .._high.sale import x"),
        (1, "from .._high import sale"),
        (1, "from .. import _high"),
        (2, "def f():\n    from shop._high.sale import x"),
        (3, "class C:\n    def f(self):\n        import shop._high"),
        (3, "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from shop._high import sale"),
        (2, "import importlib\nimportlib.import_module('shop._high.sale')"),
        (2, "from importlib import import_module\nimport_module('.sale', 'shop._high')"),
        (2, "from importlib import import_module\nimport_module('.._high.sale', __package__)"),
        (1, "__import__('shop._high.sale')"),
        (2, "try:\n    from shop._high import sale\nexcept ImportError:\n    pass"),
        (1, "from shop._same import tax"),
        (1, "from shop.errors import x"),
    ],
)
def test_an_import_upward_is_found(tmp_path: Path, line: int, text: str) -> None:
    """However it is written: in the file and line where it is."""
    (violation,) = make(tmp_path, _low__price=text).violations()
    assert f"_low/price.py:{line} imports shop." in violation


@pytest.mark.parametrize(
    "facade",
    [
        "from shop._high.sale import Sale",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from shop._high.sale import Sale",
        "_NAMES = {'Sale': 'shop._high.sale'}",
        "_NAMES = {'Sale': '_high.sale', 'Price': '_low.price'}",
        "_NAMES = {'Sale': '._high.sale', 'Price': '._low.price'}",
        "_NAMES = {'shop._high.sale': ('Sale', 'Discount')}",
        "_NAMES = {'_high.sale': ['Sale']}",
    ],
)
def test_a_public_name_counts_as_the_folder_that_has_it(tmp_path: Path, facade: str) -> None:
    """Also where ``__init__`` imports it on first use."""
    write_facade(tmp_path, facade)
    package = make(
        tmp_path,
        _high__sale="",
        _low__price="from shop import Sale",
        errors="from shop import Sale",
    )
    (violation,) = package.violations()
    assert "_low/price.py:1 imports shop.Sale: _high is in a higher tier" in violation


def test_a_public_name_in_a_stub(tmp_path: Path) -> None:
    """A stub next to ``__init__`` counts as a part of it."""
    write_facade(tmp_path, "from shop._high.sale import Sale", "__init__.pyi")
    (violation,) = make(tmp_path, _low__price="import shop").violations()
    assert "_high is in a higher tier" in violation


def test_a_lazy_folder_counts_as_importing_its_modules(tmp_path: Path) -> None:
    """A dict of names in the ``__init__`` of a folder is read as imports of that folder."""
    package = make(tmp_path, _low____init__="_NAMES = {'Sale': 'shop._high.sale'}")
    (violation,) = package.violations()
    assert "_low/__init__.py:1 imports shop._high.sale.Sale" in violation


def test_all_is_listed_once(tmp_path: Path) -> None:
    """A new folder, one that is gone and one in two tiers are errors."""
    layers = 'LAYERS = (("_low", "_gone"), ("_high", "_low"), ("errors",))'
    assert make(tmp_path, _layers=layers, __main__="").violations() == [
        "_same is in no tier",
        "_gone does not exist",
        "_low is listed twice",
    ]


def test_a_package_without_layers(tmp_path: Path) -> None:
    """It is reported, not passed over."""
    package = make(tmp_path)
    (tmp_path / "shop" / "_layers.py").unlink()
    assert package.layers() is None
    assert "is missing" in "".join(package.violations())
    (tmp_path / "shop" / "_layers.py").write_text("TIERS = ()")
    assert "is missing" in "".join(package.violations())


@pytest.mark.parametrize(
    ("sale", "stock"),
    [
        ("from shop._high import stock", "from shop._high import sale"),
        ("from . import stock", "def f():\n    from .sale import x"),
        ("import shop._high.stock", "from shop import _high"),
    ],
)
def test_a_circle_of_modules_is_found(tmp_path: Path, sale: str, stock: str) -> None:
    """Inside a folder, too, and through its ``__init__``."""
    package = make(
        tmp_path, _high__sale=sale, _high__stock=stock, _high____init__="from .sale import x"
    )
    cycle = find_cycle(package.module_graph())
    assert cycle[0] == cycle[-1]
    assert "shop._high.sale" in cycle
    assert "shop._high.stock" in cycle


def test_tiers_are_proposed_as_deep_as_the_imports() -> None:
    """A circle is in one tier, what imports it is above."""
    edges = [("b", "a"), ("c", "b"), ("d", "c"), ("c", "d"), ("e", "d")]
    assert proposed_tiers("abcdef", edges) == [["a", "f"], ["b"], ["c", "d"], ["e"]]
