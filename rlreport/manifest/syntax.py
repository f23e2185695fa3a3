"""YAML syntax errors in our own words: what the parser met, where, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from rlreport.manifest import codes
from rlreport.run.diagnostics import Diagnostic, Location


@dataclass(frozen=True, slots=True)
class _Complaint:
    """One kind of syntax error.

    `words` are parts of the parser's message, any of which tells this kind (libyaml and PyYAML word theirs differently).
    `sentence` may use {begun}, the line where the construct began, and {character}, the character that was met. `tab` picks
    the row only when that character is (not) a tab, `after` only when one of these characters stands before it; `at_start`
    places the error where the construct began.
    """

    words: tuple[str, ...]
    sentence: str
    hint: str
    tab: bool | None = None
    after: str = ""
    at_start: bool = False


_INDENTATION = "check the indentation: keys of one mapping stand in one column, below their parent, indented with spaces"

#: The first row that matches is taken.
_COMPLAINTS: tuple[_Complaint, ...] = (
    _Complaint(
        ("mapping values are not allowed",),
        "a ':' stands where no key can be",
        "a key needs a space after its ':', a text with ': ' in it needs quotes; check the indentation of this line",
    ),
    _Complaint(
        ("sequence entries are not allowed",),
        "a list entry '- ' stands where none can be",
        "begin the list on a line of its own, below its key",
    ),
    _Complaint(
        ("cannot start any token", "tab character where"),
        "a tab is used for indentation",
        "indent with spaces",
        tab=True,
    ),
    _Complaint(
        ("cannot start any token",),
        "a value cannot begin with {character}",
        "put the whole value in quotes",
        tab=False,
    ),
    _Complaint(
        ("unexpected end of stream",),
        "the quoted text that begins here is not closed",
        "close the quote; an apostrophe within single quotes is doubled",
        at_start=True,
    ),
    _Complaint(
        ("expected ',' or ']'",), "the list in brackets begun on line {begun} is not closed", "add ']' or a missing ','"
    ),
    _Complaint(
        ("expected ',' or '}'",), "the mapping in braces begun on line {begun} is not closed", "add '}' or a missing ','"
    ),
    _Complaint(
        ("invalid Unicode character",),
        "an escape names no character",
        "write the character itself",
    ),
    _Complaint(
        ("unknown escape character",),
        "a backslash is followed by a character that makes no escape",
        "double the backslash, or use single quotes",
    ),
    _Complaint(
        ("undefined alias",),
        "an alias '*' names an anchor that was not set before",
        "set it with '&name', or quote the text",
    ),
    _Complaint(
        ("second occurrence",), "an anchor is set twice, first on line {begun}", "give the second anchor another name"
    ),
    _Complaint(("undefined tag handle",), "a tag '!' is not known", "remove it, or quote the text"),
    _Complaint(
        ("found another document",),
        "a second YAML document begins",
        "a manifest is one document: remove the '---' line, or split the file",
    ),
    _Complaint(
        ("incompatible YAML document",),
        "the %YAML line asks for another version",
        "remove the line; a manifest is read as YAML 1.2",
    ),
    _Complaint(
        ("nesting depth", "nested too deeply"),
        "lists and mappings are nested too deeply",
        "close what was opened; a manifest needs few levels",
    ),
    _Complaint(("could not find expected ':'",), "a key has no ':'", "write 'key: value', with a space after the ':'"),
    _Complaint(
        ("expected <block end>", "expected key"),
        "a text goes on behind its closing quote",
        "an apostrophe within single quotes is doubled; quote the whole value or none of it",
        after="'\"",
    ),
    _Complaint(
        ("expected <block end>", "expected key", "'-' indicator", "<document start>"),
        "this does not belong here",
        _INDENTATION,
    ),
)


def describe_syntax_error(error: yaml.MarkedYAMLError, text: str, path: str) -> Diagnostic:
    """Turn a parser's complaint into a diagnostic with a place and a hint.

    Args:
        error: what PyYAML or libyaml raised.
        text: the document, to look at the character that was met.
        path: the manifest as the user named it.
    """
    problem = error.problem or error.context or "not well-formed"
    mark, start = error.problem_mark or error.context_mark, error.context_mark
    before, character = _around(text, mark)
    begun = None if start is None else start.line + 1
    for row in _COMPLAINTS:
        fits = row.tab in (None, character == "\t") and (not row.after or (before and before in row.after))
        if fits and any(words in problem for words in row.words):
            place = _locate(path, start if row.at_start and start is not None else mark)
            sentence = row.sentence.format(begun=begun, character=repr(character))
            return Diagnostic(codes.SYNTAX, f"YAML: {sentence}", place, row.hint)
    return Diagnostic(codes.SYNTAX, f"YAML: {problem}", _locate(path, mark), _INDENTATION)


def _locate(path: str, mark: yaml.Mark | None) -> Location:
    return Location(path) if mark is None else Location(path, mark.line + 1, mark.column + 1)


def _around(text: str, mark: yaml.Mark | None) -> tuple[str, str]:
    """The characters before and at a mark, blanks passed over; "" beyond the ends of its line."""
    lines = text.splitlines()
    if mark is None or mark.line >= len(lines):
        return "", ""
    line = lines[mark.line]
    return line[: mark.column].rstrip(" ")[-1:], line[mark.column :].lstrip(" ")[:1]
