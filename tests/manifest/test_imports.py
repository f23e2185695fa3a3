"""The command line must answer a broken manifest at once: nothing heavy may be imported on the way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.manifest_files import VALID, make_folder

HEAVY = ("pandas", "matplotlib", "weasyprint", "numpy", "scipy", "jinja2", "tensorboardX", "simpy")

PROGRAM = """
import json, pathlib, sys
from rlreport.manifest import load_manifest
from rlreport.run.diagnostics import RlreportError
try:
    load_manifest(pathlib.Path(sys.argv[1]))
    count = 0
except RlreportError as error:
    count = len(error.diagnostics)
print(json.dumps([count, sorted(name for name in sys.modules if "." not in name)]))
"""


def modules_after(path: Path) -> tuple[int, set[str]]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=True)
    count, modules = json.loads(done.stdout)
    return count, set(modules)


@pytest.mark.parametrize(
    ("text", "errors"),
    [(VALID, 0), (VALID.replace("[r32]", "[r23]").replace("kind: ab", "kind: abb"), 2)],
)
def test_nothing_heavy_is_imported(text: str, errors: int, tmp_path: Path) -> None:
    path = make_folder(tmp_path) / "experiments.yaml"
    path.write_text(text, encoding="utf-8")
    count, modules = modules_after(path)
    assert count == errors
    assert modules & set(HEAVY) == set()
    assert "pydantic" in modules


def test_a_syntax_error_does_not_even_need_the_model(tmp_path: Path) -> None:
    path = tmp_path / "experiments.yaml"
    path.write_text("a: [", encoding="utf-8")
    count, modules = modules_after(path)
    assert count == 1
    assert "pydantic" not in modules
