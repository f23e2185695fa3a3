"""Arithmetic over knobs, read by a small parser of its own: numbers, dotted names, + - * / and brackets, one `==`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_TOKEN = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_][\w.]*)|(?P<sign>==|[-+*/()]))")
#: Relative distance of two sides that are still equal: knobs are numbers as people write them.
TOLERANCE = 1e-9

Lookup = Callable[[str], float | None]


class ExpressionError(ValueError):
    """A text is no expression; the message says what stands where."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression: one side, or two sides joined by `==`. `variables` are the names in order of appearance."""

    text: str
    sides: tuple[_Node, ...]
    variables: tuple[str, ...]

    def value(self, lookup: Lookup) -> float | None:
        """The value of the first side; None when a variable is unknown or a division has no result."""
        return self.sides[0].value(lookup)

    def holds(self, lookup: Lookup) -> bool | None:
        """Whether the two sides are equal; None when one is not known. Raises ExpressionError for a one-sided text."""
        if len(self.sides) != 2:
            raise ExpressionError(f"'{self.text}' has no '=='")
        left, right = (side.value(lookup) for side in self.sides)
        return None if left is None or right is None else math.isclose(left, right, rel_tol=TOLERANCE)


@dataclass(frozen=True, slots=True)
class _Node:
    """A number, a name, or an operation on two nodes."""

    operation: str
    number: float = 0.0
    name: str = ""
    left: _Node | None = None
    right: _Node | None = None

    def value(self, lookup: Lookup) -> float | None:
        if self.operation == "number":
            return self.number
        if self.operation == "name":
            return lookup(self.name)
        left = self.left.value(lookup) if self.left else None
        right = self.right.value(lookup) if self.right else None
        if left is None or right is None or (self.operation == "/" and right == 0):
            return None
        operations: Mapping[str, Callable[[float, float], float]] = {
            "+": lambda a, b: a + b,
            "-": lambda a, b: a - b,
            "*": lambda a, b: a * b,
            "/": lambda a, b: a / b,
        }
        return operations[self.operation](left, right)


def parse_expression(text: str) -> Expression:
    """Read an expression such as `sync_step * mini_batch == train_batch`.

    Raises:
        ExpressionError: where the text is no such expression.
    """
    tokens = _tokens(text)
    parser = _Parser(text, tokens)
    sides = [parser.sum()]
    if parser.take("=="):
        sides.append(parser.sum())
    if parser.rest:
        raise ExpressionError(f"'{text}': '{parser.rest[0][1]}' is not expected here")
    variables = tuple(dict.fromkeys(value for kind, value in tokens if kind == "name"))
    return Expression(text, tuple(sides), variables)


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    place = 0
    while place < len(text.rstrip()):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ExpressionError(f"'{text}': cannot read '{text[place:].strip()}'")
        kind = str(match.lastgroup)
        tokens.append((kind, match[kind]))
        place = match.end()
    return tokens


class _Parser:
    """Recursive descent over the tokens: sum, product, factor."""

    def __init__(self, text: str, tokens: list[tuple[str, str]]) -> None:
        self.text = text
        self.rest = list(tokens)

    def take(self, *signs: str) -> str | None:
        """Remove and return the next token when it is one of the signs."""
        if self.rest and self.rest[0][0] == "sign" and self.rest[0][1] in signs:
            return self.rest.pop(0)[1]
        return None

    def sum(self) -> _Node:
        """Products joined by + and -."""
        node = self.product()
        while sign := self.take("+", "-"):
            node = _Node(sign, left=node, right=self.product())
        return node

    def product(self) -> _Node:
        """Factors joined by * and /."""
        node = self.factor()
        while sign := self.take("*", "/"):
            node = _Node(sign, left=node, right=self.factor())
        return node

    def factor(self) -> _Node:
        """A number, a name, a bracket, or one of these with a minus."""
        if self.take("-"):
            return _Node("-", left=_Node("number", 0.0), right=self.factor())
        if self.take("("):
            node = self.sum()
            if not self.take(")"):
                raise ExpressionError(f"'{self.text}': a bracket is not closed")
            return node
        if not self.rest or self.rest[0][0] == "sign":
            found = f"'{self.rest[0][1]}'" if self.rest else "the end"
            raise ExpressionError(f"'{self.text}': a number or a name is expected before {found}")
        kind, value = self.rest.pop(0)
        return _Node("number", float(value)) if kind == "number" else _Node("name", name=value)
