"""Whatever stands in a manifest, the answer is a manifest or diagnostics, never another exception."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.manifest_files import load_text, make_folder, place_of, problems_of

from rlreport.manifest.codes import CODES
from rlreport.run.diagnostics import RlreportError

WHOLE: dict[str, Any] = {
    "version": 1,
    "title": "Tuning",
    "runs": {
        "r48": {
            "label": "48 nodes",
            "sources": ["logs/r48/console.log", {"path": "logs/r48/*.jsonl", "format": "f", "columns": {"a": "step"}}],
            "framework": "verl",
            "framework_version": "0.10",
            "config": {"a.b": 1, "c": {"d": [1, 2]}},
            "devices": {"trainer": 1, "rollout": 2},
            "hybrid_replicas": "0-7",
            "group": "g",
        },
        "r32": {"sources": ["logs/r32"]},
    },
    "reports": [
        {
            "id": "study",
            "kind": "sweep",
            "baseline": "r48",
            "variants": ["r32"],
            "changes": ["work", "a.b"],
            "waive": [{"knob": "a.b", "reason": "r", "expires": "2026-01-31"}],
            "steady_state": {"from": "auto", "to": 9},
            "margins": {"throughput": "5%", "reward": 0.1},
            "narrative": "notes/study.md",
            "decision": {"status": "accepted", "date": "2026-01-31"},
            "knob": "a.b",
        }
    ],
}

_ODD = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 3),
        st.just(10**30),
        st.floats(-2, 2),
        st.sampled_from(
            ["", " ", "r32", "r48", "ab", "*", "[", "**", "..", "/", "~", ".", "a.b", "auto", "9-1", "100%", "{x}", "é"]
        ),
        st.text(max_size=5),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(
            st.sampled_from(["", "a", "a.b", "path", "columns", "id", "[key]", "status", "from"]), inner, max_size=2
        ),
    ),
    max_leaves=4,
)


def _places(data: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    children = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(place for key, value in children for place in _places(value, (*path, key)))]


PLACES = [place for place in _places(WHOLE) if place]


def mutate(changes: list[tuple[tuple[str | int, ...], str, Any]]) -> Any:
    """The whole manifest with values exchanged, keys added or removed; what a change no longer finds is left."""
    data = copy.deepcopy(WHOLE)
    for place, action, value in changes:
        target: Any = data
        for part in place[:-1]:
            inside = isinstance(target, dict) and part in target
            inside = inside or (isinstance(target, list) and isinstance(part, int) and part < len(target))
            target = target[part] if inside else None
        if isinstance(target, dict) and isinstance(place[-1], str):
            if action == "remove":
                target.pop(place[-1], None)
            else:
                target[place[-1] + ("_" if action == "add" else "")] = value
        elif isinstance(target, list):
            target.append(value)
    return data


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("robust"))


def test_the_whole_manifest_is_valid(folder: Path) -> None:
    assert load_text(folder, json.dumps(WHOLE)).warnings == ()


@given(
    changes=st.lists(
        st.tuples(st.sampled_from(PLACES), st.sampled_from(["exchange", "add", "remove"]), _ODD), min_size=1, max_size=3
    )
)
def test_any_manifest_is_answered(changes: list[tuple[tuple[str | int, ...], str, Any]], folder: Path) -> None:
    text = json.dumps(mutate(changes), indent=1)
    problems = problems_of(folder, text)
    assert [problem.severity for problem in problems] == ["error"] * len(problems)
    places = [place_of(problem) for problem in problems]
    assert places == sorted(places, key=lambda place: (place[0] or 0, place[1] or 0))
    assert all(1 <= (line or 0) <= text.count("\n") + 1 for line, _ in places)
    for problem in problems:
        assert problem.code in CODES
        assert "\n" not in problem.message


@given(text=st.text("abr48: -[]{}\"'\n&*!#|>%@,?<\t0.", max_size=60))
def test_any_text_is_answered(text: str, folder: Path) -> None:
    with pytest.raises(RlreportError):
        load_text(folder, text)
