"""A strict YAML 1.2 loader on PyYAML's parser: plain data, with the place of every key and value.

PyYAML resolves scalars as YAML 1.1 does (`on` is true, `16:16` is 976, `1e-6` is text) and lets the last of two equal keys
win. Here the core schema of YAML 1.2 decides (`scalars.py`), equal keys are errors, and a problem has a place. libyaml's
parser is used where PyYAML was built with it; both give the same result.

Keys are names: they are kept as written, so that a run may be called `48` or `1e3`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import yaml

from rlreport.manifest import codes
from rlreport.manifest.scalars import BY_TAG, TAG_PREFIX, TEXT_TAG, UNPRINTABLE, plain_tag
from rlreport.manifest.syntax import describe_syntax_error
from rlreport.manifest.wording import quote
from rlreport.run.diagnostics import Diagnostic, Location, RlreportError

#: A place in the data: keys and list indices from the top.
DataPath = tuple[str | int, ...]

MAX_DEPTH = 64
MAX_VALUES = 100_000
MAX_DIGITS = 400

_MERGE_TAG = TAG_PREFIX + "merge"
_COLLECTION_TAGS: dict[type[yaml.Node], str] = {yaml.MappingNode: TAG_PREFIX + "map", yaml.SequenceNode: TAG_PREFIX + "seq"}


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML document as plain data (None, bool, int, float, str, list, dict with text keys) and its places.

    `keys` and `values` give the place of each key and of each value by path; the content of an alias is placed where its
    anchor stands, and a value that is left out where its key stands. `written` holds the text of each plain number as it
    stands in the file (`0.10`, `007`). `diagnostics` are the problems that did not stop the reading: equal keys, tags, merge
    keys. Of equal keys the first counts, and mappings under them are joined.
    """

    path: str
    data: Any
    keys: Mapping[DataPath, Location] = field(default_factory=dict)
    values: Mapping[DataPath, Location] = field(default_factory=dict)
    written: Mapping[DataPath, str] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()

    def value_at(self, path: DataPath) -> Location:
        """The place of a value, or of the nearest value around it when the path itself is not in the file."""
        while path not in self.values and path:
            path = path[:-1]
        return self.values.get(path, Location(self.path, 1, 1))

    def key_at(self, path: DataPath) -> Location:
        """The place of the key that names this path; of the value when it is a list entry."""
        return self.keys.get(path) or self.value_at(path)


class _CoreResolver:
    """Resolves plain scalars by the core schema; mixed into PyYAML's loaders, whose parser calls these three methods."""

    _depth = 0

    def resolve(self, kind: type[yaml.Node], value: str | None, implicit: tuple[bool, bool]) -> str:
        """The tag of a node that has none of its own; `implicit[0]` says that a scalar is plain."""
        if kind is not yaml.ScalarNode:
            return _COLLECTION_TAGS[kind]
        if not implicit[0] or value is None:
            return TEXT_TAG
        return _MERGE_TAG if value == "<<" else plain_tag(value)

    def descend_resolver(self, parent: yaml.Node | None, _index: object) -> None:
        """Called on the way into a node: refuses nesting that would exhaust the stack."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            mark = None if parent is None else parent.start_mark
            raise yaml.MarkedYAMLError(problem="nested too deeply", problem_mark=mark)

    def ascend_resolver(self) -> None:
        """Called on the way out of a node."""
        self._depth -= 1


def make_loader(base: type[Any]) -> type[yaml.SafeLoader]:
    """A core-schema loader on top of one of PyYAML's loaders."""
    return cast("type[yaml.SafeLoader]", type("CoreSchemaLoader", (_CoreResolver, base), {}))


_LOADER = make_loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def load_yaml(text: str, path: str, loader: type[yaml.SafeLoader] = _LOADER) -> Document:
    """Read one YAML document.

    Args:
        text: the document.
        path: how diagnostics name the file.
        loader: made by `make_loader`; the fastest at hand by default.

    Raises:
        RlreportError: the text is not well-formed YAML (RR102), or holds more than a manifest may (RR107).
    """
    try:
        node = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        raise RlreportError.of(describe_syntax_error(error, text, path)) from None
    if node is None:
        return Document(path, None)
    builder = _Builder(path)
    data = builder.build(node, ())
    return Document(path, data, builder.keys, builder.values, builder.written, tuple(builder.diagnostics))


class _Builder:
    """Turns nodes into data, noting places and problems on the way."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.keys: dict[DataPath, Location] = {}
        self.values: dict[DataPath, Location] = {}
        self.written: dict[DataPath, str] = {}
        #: An ordered set: what stands below an alias is met several times and told once.
        self.diagnostics: dict[Diagnostic, None] = {}
        self._open: list[yaml.Node] = []
        self._count = 0

    def build(self, node: yaml.Node, path: DataPath) -> Any:
        """The data of a node; its place is noted under the path."""
        self._count += 1
        if self._count > MAX_VALUES:
            self._stop(node, f"more than {MAX_VALUES:,} values, those of aliases counted each time")
        self.values[path] = self._place(node)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if node.tag != _COLLECTION_TAGS[type(node)]:
            self._refuse_tag(node)
        self._enter(node)
        data: Any
        if isinstance(node, yaml.MappingNode):
            data = {}
            self._mapping(node, path, data)
        else:
            data = [self.build(entry, (*path, index)) for index, entry in enumerate(node.value)]
        self._open.pop()
        return data

    def _enter(self, node: yaml.Node) -> None:
        """Note that the content of a collection is being built; aliases may not lead round or too deep."""
        if any(node is other for other in self._open):
            self._stop(node, "an alias stands within what it names")
        if len(self._open) >= MAX_DEPTH:
            self._stop(node, "lists and mappings are nested too deeply once the aliases are followed")
        self._open.append(node)

    def _mapping(self, node: yaml.MappingNode, path: DataPath, data: dict[str, Any]) -> None:
        """Fill `data` from a mapping; what it holds already (from an equal key before) is kept."""
        seen: dict[str, Location] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key is None:
                continue
            place = self._place(key_node)
            if key in seen:
                self._report(
                    codes.DUPLICATE_KEY,
                    f"the key {quote(key)} is given twice, first on line {seen[key].line}",
                    place,
                    "remove one of the two, or give it another name",
                )
            seen.setdefault(key, place)
            here = (*path, key)
            if key not in data:
                self.keys[here] = place
                data[key] = self.build(value_node, here)
                if isinstance(value_node, yaml.ScalarNode) and _is_absent(value_node):
                    self.values[here] = place
            elif isinstance(value_node, yaml.MappingNode) and isinstance(data[key], dict):
                self._enter(value_node)
                self._mapping(value_node, here, data[key])
                self._open.pop()

    def _key(self, node: yaml.Node) -> str | None:
        """A key as written; None for one that cannot be a key, which is reported."""
        if not isinstance(node, yaml.ScalarNode):
            self._report(
                codes.KEY_NOT_SCALAR,
                "a list or a mapping is used as a key",
                self._place(node),
                "a key is a name; put a text that begins with '[', '{' or '?' in quotes",
            )
            return None
        if node.tag == _MERGE_TAG:
            self._report(
                codes.MERGE_KEY,
                "the merge key '<<' is not part of YAML 1.2",
                self._place(node),
                "write the keys out, or let an alias stand for a whole value: 'config: *name'",
            )
            return None
        return self._printable(node)

    def _printable(self, node: yaml.ScalarNode) -> str:
        """The text of a scalar, in which escapes may not have brought control characters or halves of surrogate pairs."""
        text = cast("str", node.value)
        found = UNPRINTABLE.search(text)
        if found:
            self._report(
                codes.NOT_TEXT,
                f"the text holds the control character U+{ord(found[0]):04X}",
                self._place(node),
                "remove the escape",
            )
        return UNPRINTABLE.sub("\ufffd", text)

    def _scalar(self, node: yaml.ScalarNode, path: DataPath) -> Any:
        text = self._printable(node)
        kind = BY_TAG.get(node.tag)
        if kind is None:
            if node.tag not in (TEXT_TAG, _MERGE_TAG):
                self._refuse_tag(node)
            return text
        if not kind.pattern.fullmatch(text):
            self._report(codes.TAG, f"{quote(text)} is tagged as {kind.noun}", self._place(node), "remove the tag")
            return text
        if len(text) > MAX_DIGITS:
            self._report(
                codes.TOO_LARGE, f"a number of {len(text):,} characters", self._place(node), "is it a text? quote it"
            )
            return text
        value = kind.convert(text)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            self.written[path] = text
        return value

    def _refuse_tag(self, node: yaml.Node) -> None:
        tag = node.tag.replace(TAG_PREFIX, "!!")
        self._report(codes.TAG, f"the tag {quote(tag)} is not supported", self._place(node), "write the value without a tag")

    def _place(self, node: yaml.Node) -> Location:
        return Location(self.path, node.start_mark.line + 1, node.start_mark.column + 1)

    def _report(self, code: str, message: str, place: Location, hint: str) -> None:
        self.diagnostics[Diagnostic(code, message, place, hint)] = None

    def _stop(self, node: yaml.Node, message: str) -> None:
        hint = "write the values out instead of using aliases"
        raise RlreportError.of((*self.diagnostics, Diagnostic(codes.TOO_LARGE, message, self._place(node), hint)))


def _is_absent(node: yaml.ScalarNode) -> bool:
    """Whether nothing is written for the value, not even quotes."""
    return node.value == "" and (node.start_mark.line, node.start_mark.column) == (node.end_mark.line, node.end_mark.column)
