from __future__ import annotations

from typing import Any

import pytest
import yaml
from support.manifest_files import place_of, unmark

from rlreport.manifest.yaml12 import load_yaml, make_loader
from rlreport.run.diagnostics import RlreportError

LOADERS = [
    pytest.param(make_loader(yaml.SafeLoader), id="pyyaml"),
    pytest.param(make_loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)), id="libyaml"),
]


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(
    ("marked", "message", "hint"),
    [
        ("a: b§: c\n", "a ':' stands where no key can be", "needs quotes"),
        ("title: 50 %§: half\n", "a ':' stands where no key can be", "needs quotes"),
        ("a:b\nc§: 1\n", "a ':' stands where no key can be", "a space after its ':'"),
        ("a: §- b\n", "a list entry '- '", "line of its own"),
        ("a:\n§\t- b\n", "a tab is used for indentation", "indent with spaces"),
        ("a: §@x\n", "cannot begin with '@'", "quotes"),
        ("a: §%b\n", "cannot begin with '%'", "quotes"),
        ("a: §`b`\n", "cannot begin with '`'", "quotes"),
        ("é: x\na: 'don'§t\nb: 1\n", "a text goes on behind its closing quote", "apostrophe"),
        ('a: "x" §"y"\n', "a text goes on behind its closing quote", "whole value"),
        ("word\n§: 1\n", "this does not belong here", "indentation"),
        ("a: §'x\nb: 1\n", "the quoted text that begins here is not closed", "close the quote"),
        ('a: §"x\nb: 1\n', "the quoted text that begins here is not closed", "close the quote"),
        ("k: 1\na: [1, 2\nb§: 1\n", "the list in brackets begun on line 2 is not closed", "']'"),
        ("a: {b: 1, c: [2§}\n", "the list in brackets begun on line 1 is not closed", "']'"),
        ("a: {b: 1\n§", "the mapping in braces begun on line 1 is not closed", "'}'"),
        ("a: §*x\n", "names an anchor that was not set", "'&name'"),
        ("a: &x 1\nb: §&x 2\n", "an anchor is set twice, first on line 1", "another name"),
        ("a: §!e!x 1\n", "a tag '!' is not known", "remove it"),
        ("a: 1\n§---\nb: 2\n", "a second YAML document begins", "one document"),
        ("§%YAML 2.0\n---\na: 1\n", "another version", "remove the line"),
        ("a: 1\n§}\n", "this does not belong here", "indentation"),
        ("a:\n  - 1\n §b: 2\n", "this does not belong here", "indentation"),
        ("- a\n§b: 1\n", "this does not belong here", "indentation"),
        ("a\n b\nc§: 1\n", "a ':' stands where no key can be", "indentation"),
    ],
)
def test_syntax_errors_have_a_place_and_a_hint(marked: str, message: str, hint: str, loader: Any) -> None:
    text, places = unmark(marked)
    with pytest.raises(RlreportError) as caught:
        load_yaml(text, "m.yaml", loader)
    (problem,) = caught.value.diagnostics
    assert problem.code == "RR102"
    assert message in problem.message
    assert hint in (problem.hint or "")
    assert [place_of(problem)] == places


@pytest.mark.parametrize("loader", LOADERS)
def test_an_unknown_escape_is_placed_on_its_line(loader: Any) -> None:
    """The two parsers differ by one in the column: one points at the backslash, the other behind it."""
    with pytest.raises(RlreportError) as caught:
        load_yaml('b: 1\na: "C:\\logs"\n', "m.yaml", loader)
    (problem,) = caught.value.diagnostics
    assert "a backslash is followed" in problem.message
    assert problem.hint == "double the backslash, or use single quotes"
    assert place_of(problem) in [(2, 7), (2, 8)]
