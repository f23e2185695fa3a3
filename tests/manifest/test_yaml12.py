from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.manifest_files import MARK, place_of, unmark

from rlreport.manifest.yaml12 import MAX_DEPTH, Document, load_yaml, make_loader
from rlreport.run.diagnostics import Location, RlreportError

LOADERS = [
    pytest.param(make_loader(yaml.SafeLoader), id="pyyaml"),
    pytest.param(make_loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)), id="libyaml"),
]


@pytest.fixture(params=LOADERS)
def loader(request: pytest.FixtureRequest) -> Any:
    return request.param


def load(text: str, loader: Any) -> Document:
    return load_yaml(text, "m.yaml", loader)


def test_data_is_plain(loader: Any) -> None:
    document = load("a: [1e-6, 16:16, on, 'true', \"12\", 017, ~, ]\nb: {c: text, d: !!str 12, e: !!float 1}\n", loader)
    assert document.data == {
        "a": [1e-6, "16:16", "on", "true", "12", 17, None],
        "b": {"c": "text", "d": "12", "e": 1.0},
    }
    assert [type(value) for value in document.data["a"]] == [float, str, str, str, str, int, type(None)]


def test_a_tag_of_the_core_schema_must_fit_its_value(loader: Any) -> None:
    document = load(f"a: !!int '12'\nb: {MARK}!!int abc\n".replace(MARK, ""), loader)
    assert document.data == {"a": 12, "b": "abc"}
    (problem,) = document.diagnostics
    assert (problem.code, place_of(problem)) == ("RR105", (2, 4))
    assert problem.message == "'abc' is tagged as a whole number"


def test_every_key_and_value_has_a_place(loader: Any) -> None:
    document = load("é日: ü\n\nlist:\n- x\n-   {k: v, 日本: 12}\n", loader)
    assert document.keys == {
        ("é日",): Location("m.yaml", 1, 1),
        ("list",): Location("m.yaml", 3, 1),
        ("list", 1, "k"): Location("m.yaml", 5, 6),
        ("list", 1, "日本"): Location("m.yaml", 5, 12),
    }
    assert document.values == {
        (): Location("m.yaml", 1, 1),
        ("é日",): Location("m.yaml", 1, 5),
        ("list",): Location("m.yaml", 4, 1),
        ("list", 0): Location("m.yaml", 4, 3),
        ("list", 1): Location("m.yaml", 5, 5),
        ("list", 1, "k"): Location("m.yaml", 5, 9),
        ("list", 1, "日本"): Location("m.yaml", 5, 16),
    }
    assert document.value_at(("list", 1, "absent", 3)) == Location("m.yaml", 5, 5)
    assert document.key_at(("list", 0)) == Location("m.yaml", 4, 3)


def test_a_value_left_out_is_placed_at_its_key(loader: Any) -> None:
    document = load("a:\nb: {c: , d: ''}\n", loader)
    assert document.data == {"a": None, "b": {"c": None, "d": ""}}
    assert document.values[("a",)] == Location("m.yaml", 1, 1)
    assert document.values[("b", "c")] == Location("m.yaml", 2, 5)
    assert document.values[("b", "d")] == Location("m.yaml", 2, 13)


def test_keys_are_kept_as_written(loader: Any) -> None:
    assert list(load("{48: a, 1e3: b, on: c, ~: d, 'x y': e}", loader).data) == ["48", "1e3", "on", "~", "x y"]


def test_plain_numbers_keep_their_text(loader: Any) -> None:
    document = load("[0.10, 007, '0.10', true, x]", loader)
    assert document.written == {(0,): "0.10", (1,): "007"}


def test_equal_keys_are_errors_and_the_first_counts(loader: Any) -> None:
    text, places = unmark(f"a: {{x: 1}}\nb: 2\n{MARK}a: {{x: 9, y: 3}}\n{MARK}'b': 4\n{MARK}a: 5\n")
    document = load(text, loader)
    assert [place_of(problem) for problem in document.diagnostics] == places
    assert {problem.code for problem in document.diagnostics} == {"RR103"}
    assert document.diagnostics[0].message == "the key 'a' is given twice, first on line 1"
    assert document.diagnostics[1].message == "the key 'b' is given twice, first on line 2"
    # What stands only in the second mapping is kept, so that references to it are not errors as well.
    assert document.data == {"a": {"x": 1, "y": 3}, "b": 2}
    assert document.values[("a", "y")] == Location("m.yaml", 3, 14)


def test_aliases_are_followed_and_not_shared(loader: Any) -> None:
    document = load("a: &x {k: [1]}\nb: *x\nc: [*x, *x]\n", loader)
    assert document.data == {"a": {"k": [1]}, "b": {"k": [1]}, "c": [{"k": [1]}, {"k": [1]}]}
    document.data["b"]["k"].append(2)
    assert document.data["a"] == {"k": [1]}
    assert document.values[("b", "k", 0)] == Location("m.yaml", 1, 12)


def test_what_is_wrong_below_an_alias_is_told_once(loader: Any) -> None:
    document = load("a: &x {k: !secret 1}\nb: *x\n", loader)
    (problem,) = document.diagnostics
    assert (problem.code, place_of(problem)) == ("RR105", (1, 11))


@pytest.mark.parametrize(
    ("marked", "code", "fragment"),
    [
        ("a: &x {k: 1}\nb:\n  §<<: *x\n  l: 2\n", "RR106", "merge key"),
        ("a: §!include other.yaml\n", "RR105", "'!include'"),
        ("a: §!!python/name:os.system ''\n", "RR105", "'!!python/name:os.system'"),
        ("a: §!!binary aGk=\n", "RR105", "'!!binary'"),
        ("a: §!!timestamp 2024-01-01\n", "RR105", "'!!timestamp'"),
        ("a: §!!set {x}\n", "RR105", "'!!set'"),
        ("a: §!point [1, 2]\n", "RR105", "'!point'"),
        ("§{x: 1}: 2\n", "RR108", "used as a key"),
        ("? §[x]\n: 2\n", "RR108", "used as a key"),
        ("a: §" + "9" * 401 + "\n", "RR107", "401 characters"),
    ],
)
def test_what_yaml_allows_and_a_manifest_does_not(marked: str, code: str, fragment: str, loader: Any) -> None:
    text, places = unmark(marked)
    (problem,) = load(text, loader).diagnostics
    assert (problem.code, [place_of(problem)]) == (code, places)
    assert fragment in problem.message
    assert problem.hint


def test_merge_key_in_quotes_is_a_name(loader: Any) -> None:
    document = load("'<<': 1\na: <<\n", loader)
    assert (document.data, document.diagnostics) == ({"<<": 1, "a": "<<"}, ())


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("a: &x [*x]\n", "within what it names"),
        ("a: &x {k: 1, l: {m: *x}}\n", "within what it names"),
        ("a: &x {k: {}}\nb: &y {k: *x, k: *y}\n", "within what it names"),
        (
            "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
            + "".join(f"{k}: &{k} [{', '.join('*' + chr(ord(k) - 1) for _ in range(9))}]\n" for k in "bcdefghi"),
            "100,000 values",
        ),
        ("a0: &a0 [1]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, MAX_DEPTH + 5)), "nested too deeply"),
    ],
)
def test_aliases_cannot_exhaust_the_machine(text: str, fragment: str, loader: Any) -> None:
    with pytest.raises(RlreportError, match=fragment) as caught:
        load(text, loader)
    assert caught.value.diagnostics[-1].code == "RR107"


@pytest.mark.parametrize("count", [100, 5000])
@pytest.mark.parametrize("opening", ["[", "{a: "])
def test_deep_nesting_is_refused(opening: str, count: int, loader: Any) -> None:
    with pytest.raises(RlreportError, match="nested too deeply"):
        load(opening * count, loader)


def test_nesting_up_to_the_limit_is_read(loader: Any) -> None:
    data = load("[" * MAX_DEPTH + "]" * MAX_DEPTH, loader).data
    for _ in range(MAX_DEPTH - 1):
        (data,) = data
    assert data == []


def test_escapes_cannot_bring_control_characters_in(loader: Any) -> None:
    text, places = unmark('a: §"x\\0"\n§"\\x1b": 1\nb: "tab\\t"\n')
    document = load(text, loader)
    assert [(problem.code, place_of(problem)) for problem in document.diagnostics] == [("RR101", place) for place in places]
    assert document.data == {"a": "x\ufffd", "\ufffd": 1, "b": "tab\t"}


def test_half_a_surrogate_pair_is_refused(loader: Any) -> None:
    try:
        problems = load('a: "\\ud800"\n', loader).diagnostics
    except RlreportError as error:
        problems = error.diagnostics
    (problem,) = problems
    assert problem.location is not None
    assert problem.location.line == 1


def test_an_empty_stream_has_no_data(loader: Any) -> None:
    assert load("# nothing\n", loader).data is None


#: Without what YAML does not allow, and without the line breaks that a double-quoted YAML text folds.
_TEXT = st.text(
    st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\u2028\u2029\ufeff\ufffe\uffff"), max_size=8
)
_DATA = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.floats(allow_nan=False, allow_infinity=False), _TEXT
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_TEXT, inner, max_size=4)),
    max_leaves=12,
)


@given(_DATA)
def test_json_is_read_as_json_means_it(data: Any) -> None:
    """YAML 1.2 holds JSON: an independent writer and this reader agree, whichever parser is used."""
    import json

    text = json.dumps(data, ensure_ascii=False)
    for parameter in LOADERS:
        document = load_yaml(text, "m.yaml", parameter.values[0])  # type: ignore[arg-type]
        assert document.data == data
        assert document.diagnostics == ()
