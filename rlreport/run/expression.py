"""Arithmetic over knobs, read by a small parser of its own: nothing of an expression is ever run as code.

Numbers, dotted names, `+ - * / %`, brackets, the functions of `FUNCTIONS`, and at most one `==` between two sides. What has
no value (an unknown name, a division by zero, a number too large) is None, never a guess.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rlreport.run.format import config_value

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_][\w.]*)|(?P<sign>==|[-+*/%(),]))"
)
_NAME = re.compile(r"(?<![\w.])[A-Za-z_][\w.]*(?!\s*\(|[\w.])")
#: Relative distance of two sides that are still equal: knobs are numbers as people write them.
TOLERANCE = 1e-9
#: Longest expression, in tokens. Evaluation recurses at most this deep.
MOST_TOKENS = 200
#: How deep brackets, functions and signs may nest.
MOST_NESTED = 40

Lookup = Callable[[str], float | None]

_BINARY: Mapping[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: a % b,
}
#: Functions by name, each with the number of its arguments.
FUNCTIONS: Mapping[str, tuple[int, Callable[..., float]]] = {
    "sqrt": (1, math.sqrt),
    "floor": (1, math.floor),
    "ceil": (1, math.ceil),
    "min": (2, min),
    "max": (2, max),
}


class ExpressionError(ValueError):
    """A text is no expression; the message says what stands where."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression: one side, or two sides joined by `==`. `variables` are the names in order of appearance."""

    text: str
    sides: tuple[_Node, ...]
    variables: tuple[str, ...]

    def value(self, lookup: Lookup) -> float | None:
        """The value of the first side; None when a variable is unknown or the arithmetic has no finite result."""
        return self.sides[0].value(lookup)

    def holds(self, lookup: Lookup) -> bool | None:
        """Whether the two sides are equal; None when one is not known. Raises ExpressionError for a one-sided text."""
        if len(self.sides) != 2:
            raise ExpressionError(f"'{self.text}' has no '=='")
        left, right = (side.value(lookup) for side in self.sides)
        return None if left is None or right is None else math.isclose(left, right, rel_tol=TOLERANCE)

    def filled(self, lookup: Lookup) -> str:
        """The text for a reader, each known name replaced by its number: "4 × 128 == 500". An unknown name stays."""

        def number_of(match: re.Match[str]) -> str:
            value = lookup(match[0])
            return match[0] if value is None else written_number(value)

        return _NAME.sub(number_of, self.text).replace("*", "×").replace("%", "mod")


def written_number(value: float) -> str:
    """A knob's number for a sentence: whole numbers in full, others as short as they are."""
    return config_value(int(value) if float(value).is_integer() else value)


@dataclass(frozen=True, slots=True)
class _Node:
    """A number, a name, or an operation on nodes."""

    operation: str
    number: float = 0.0
    name: str = ""
    operands: tuple[_Node, ...] = ()

    def value(self, lookup: Lookup) -> float | None:
        if self.operation == "number":
            return self.number
        if self.operation == "name":
            return _finite(lookup(self.name))
        values = [operand.value(lookup) for operand in self.operands]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return None
        if self.operation in ("/", "%") and known[1] == 0:
            return None
        try:
            return _finite(_FUNCTIONS_AND_SIGNS[self.operation](*known))
        except (ValueError, OverflowError):
            return None


_FUNCTIONS_AND_SIGNS: Mapping[str, Callable[..., float]] = {
    **_BINARY,
    **{name: function for name, (_, function) in FUNCTIONS.items()},
}


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


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
    return Expression(text, tuple(sides), tuple(dict.fromkeys(parser.names)))


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    place, end = 0, len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None:
            raise ExpressionError(f"'{text}': cannot read '{text[place:].strip()}'")
        kind = str(match.lastgroup)
        tokens.append((kind, match[kind]))
        place = match.end()
        if len(tokens) > MOST_TOKENS:
            raise ExpressionError(f"the expression has more than {MOST_TOKENS} parts")
    return tokens


class _Parser:
    """Recursive descent over the tokens: sum, product, factor."""

    def __init__(self, text: str, tokens: list[tuple[str, str]]) -> None:
        self.text = text
        self.rest = list(tokens)
        self.names: list[str] = []
        self.depth = 0

    def take(self, *signs: str) -> str | None:
        """Remove and return the next token when it is one of the signs."""
        if self.rest and self.rest[0][0] == "sign" and self.rest[0][1] in signs:
            return self.rest.pop(0)[1]
        return None

    def sum(self) -> _Node:
        """Products joined by + and -."""
        node = self.product()
        while sign := self.take("+", "-"):
            node = _Node(sign, operands=(node, self.product()))
        return node

    def product(self) -> _Node:
        """Factors joined by *, / and %."""
        node = self.factor()
        while sign := self.take("*", "/", "%"):
            node = _Node(sign, operands=(node, self.factor()))
        return node

    def factor(self) -> _Node:
        """A number, a name, a function, a bracket, or one of these with a minus."""
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise ExpressionError(f"'{self.text}' is nested too deeply")
        node = self._factor()
        self.depth -= 1
        return node

    def _factor(self) -> _Node:
        if self.take("-"):
            return _Node("-", operands=(_Node("number", 0.0), self.factor()))
        if self.take("("):
            node = self.sum()
            self._close()
            return node
        if not self.rest or self.rest[0][0] == "sign":
            found = f"'{self.rest[0][1]}'" if self.rest else "the end"
            raise ExpressionError(f"'{self.text}': a number or a name is expected before {found}")
        kind, value = self.rest.pop(0)
        if kind == "number":
            return self._number(value)
        if self.take("("):
            return self._function(value)
        self.names.append(value)
        return _Node("name", name=value)

    def _number(self, text: str) -> _Node:
        number = float(text)
        if not math.isfinite(number):
            raise ExpressionError(f"'{self.text}': the number {text} is too large")
        return _Node("number", number)

    def _function(self, name: str) -> _Node:
        if name not in FUNCTIONS:
            raise ExpressionError(f"'{self.text}': there is no function '{name}'; known are {', '.join(FUNCTIONS)}")
        operands = [self.sum()]
        while self.take(","):
            operands.append(self.sum())
        self._close()
        expected = FUNCTIONS[name][0]
        if len(operands) != expected:
            raise ExpressionError(f"'{self.text}': {name} takes {expected} value{'s' if expected > 1 else ''}")
        return _Node(name, operands=tuple(operands))

    def _close(self) -> None:
        if not self.take(")"):
            raise ExpressionError(f"'{self.text}': a bracket is not closed")
