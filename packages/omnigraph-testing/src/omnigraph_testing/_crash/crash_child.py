"""What runs first in a process under test: prepare it, load the function, run it, hand back.

This file is run by its path, with nothing installed but the standard library, so that it decides
what is imported and when. Always: nothing of the function's module is loaded before the parent
follows the process (if it wants to), and the result is written to files whose names are in the
plan. How the process ends, the parent sees by itself.
"""

from __future__ import annotations

import json
import os
import pickle
import runpy
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

_PR_SET_PDEATHSIG = 1
_SIGKILL = 9
_LOADING = "OMNIGRAPH_CRASH_LOADING"


def _die_with_parent(parent: int) -> None:
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - only where it is needed

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(_SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), _SIGKILL)


def _find_modules(plan: dict[str, Any]) -> None:
    sys.path[:] = plan["sys_path"]
    if plan["modules"]:
        from omnigraph_testing._test_modules import FilesOfTests  # noqa: PLC0415 - found only now

        sys.meta_path.insert(0, FilesOfTests(plan["modules"]))
    if plan["main"] is not None:
        # As multiprocessing does: a function of a script is found again under ``__main__``.
        os.environ[_LOADING] = "1"  # a script without a guard would start itself again and again
        space = runpy.run_path(plan["main"], run_name="__mp_main__")
        del os.environ[_LOADING]
        module = ModuleType("__mp_main__")
        module.__dict__.update(space)
        sys.modules["__main__"] = sys.modules["__mp_main__"] = module


def _run(plan: dict[str, Any], call: bytes) -> Any:
    if plan["script"] is not None:
        sys.argv = [plan["script"], *plan["script_arguments"]]
        runpy.run_path(plan["script"], run_name="__main__")
        return None
    function, arguments, keywords = pickle.loads(call)  # noqa: S301 - our own parent wrote it
    os.write(plan["started"], b"!")
    return function(*arguments, **keywords)


def _declared_points() -> list[str]:
    module = sys.modules.get("omnigraph_l1.failpoints")
    return sorted(module.declared()) if module is not None else []


def main() -> None:
    """Carry out the plan that lies in the directory named by the first argument."""
    home = Path(sys.argv[1])
    plan = json.loads((home / "plan.json").read_text(encoding="utf-8"))
    if plan["prelude"] is None:
        _die_with_parent(plan["parent"])
    else:
        script, settings = plan["prelude"]
        runpy.run_path(script, init_globals=settings)
    call = (home / "call.pickle").read_bytes()
    try:
        _find_modules(plan)
        if plan["script"] is not None:
            os.write(plan["started"], b"!")
        value = pickle.dumps(_run(plan, call))
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent is told
        told = {
            "type": type(error).__qualname__,
            "text": str(error),
            "traceback": traceback.format_exc(),
        }
        (home / "error.json").write_text(json.dumps(told), encoding="utf-8")
        sys.exit(1)
    finally:
        (home / "declared.json").write_text(json.dumps(_declared_points()), encoding="utf-8")
    (home / "value.pickle").write_bytes(value)


if __name__ == "__main__":
    main()
