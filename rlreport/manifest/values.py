"""How the manifest's scalars are read: one reader a kind of value, each with its JSON Schema and its own sentences.

A reader takes what YAML gave and returns the value, or raises `PydanticCustomError` whose type is a code of `codes.py` and
whose context has the hint. `Reader` objects stand in the annotations of the model (`shape.py`).
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from rlreport.manifest import codes
from rlreport.manifest.wording import closest, describe, quote, shorten, suggest
from rlreport.run.expression import FUNCTIONS, ExpressionError, parse_expression
from rlreport.run.knobs import KNOB_CLASSES
from rlreport.run.metrics import METRICS

SUPPORTED_VERSION = 1

_SLUG = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*%")
_REPLICAS = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

#: Names that a report's folder cannot have, because the build writes something else there.
_RESERVED_IDS = frozenset({"index.html"})


@dataclass(frozen=True)
class Reader:
    """Reads one kind of scalar; used as `Annotated[type, READER]` in a pydantic model.

    `as_written` says that a plain number is wanted as the text that stands in the file: a version `0.10` is not 0.1.
    """

    read: Callable[[Any], Any]
    schema: Mapping[str, Any] = field(hash=False)
    as_written: bool = False

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Let pydantic call `read` and nothing else."""
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, _schema: core_schema.CoreSchema, _handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The JSON Schema of what may be written."""
        return dict(self.schema)


def problem(code: str, message: str, hint: str | None = None, at: tuple[str, ...] = ()) -> PydanticCustomError:
    """An error that pydantic collects; `at` is the part of the value that it is about."""
    # A template keeps braces in the message from being read as fields.
    context = {"message": message, "hint": hint, "at": at}
    return PydanticCustomError(code, "{message}", context)


def read_text(value: Any) -> str:
    """Text that is not blank."""
    if not isinstance(value, str):
        hint = "put it in quotes" if isinstance(value, (bool, int, float)) else "give a text, or remove the key"
        raise problem(codes.WRONG_TYPE, f"expected a text, found {describe(value)}", hint)
    if not value.strip():
        raise problem(codes.MALFORMED, "the text is blank", "give a text, or remove the key")
    return value.strip()


def is_name(text: str) -> bool:
    """Whether a text is not blank, on one line, and without blanks around it."""
    return bool(text) and text == text.strip() and not _CONTROL.search(text)


def read_name(value: Any) -> str:
    """A name: text on one line, without blanks around it."""
    read_text(value)
    text = str(value)
    if _CONTROL.search(text.strip()):
        raise problem(codes.MALFORMED, "a line break or control character stands in a name", "write it on one line")
    if not is_name(text):
        raise problem(codes.MALFORMED, f"a blank stands before or after {quote(text)}", "remove it")
    return text


def read_slug(value: Any) -> str:
    """A name that can be a folder's on every system and part of a URL."""
    text = read_name(value)
    if not _SLUG.fullmatch(text):
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._").lower()[:64]
        raise problem(
            codes.MALFORMED,
            f"{quote(text)} cannot be a folder's name",
            "use up to 64 letters, digits, '-', '_' and '.'" + (f", as '{slug}'" if _SLUG.fullmatch(slug) else ""),
        )
    if text.lower() in _RESERVED_IDS:
        raise problem(codes.MALFORMED, f"'{text}' is the name of a file that a build writes", "choose another id")
    return text


def read_version(value: Any) -> int:
    """The manifest's version."""
    if isinstance(value, bool) or value != SUPPORTED_VERSION or not isinstance(value, int):
        raise problem(
            codes.VERSION,
            f"version {describe(value)} is not supported",
            f"this rlreport reads 'version: {SUPPORTED_VERSION}'",
        )
    return value


def whole_number(value: Any, hint: str) -> int:
    """A whole number of at least 0; `1e3` is one, `true` is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise problem(codes.WRONG_TYPE, f"expected a whole number, found {describe(value)}", hint)
    if value < 0:
        raise problem(codes.MALFORMED, f"expected a number of 0 or more, found {describe(value)}", hint)
    return value


def read_count(value: Any) -> int:
    """A number of devices."""
    return whole_number(value, "give the number of devices, or remove the key when it is not known")


def read_step(value: Any) -> int | None:
    """A step number, or None for `auto`."""
    if value == "auto":
        return None
    if isinstance(value, str):
        raise problem(codes.WRONG_TYPE, f"expected a step number or auto, found {describe(value)}", "write a number or auto")
    return whole_number(value, "write a step number or auto")


def read_date(value: Any) -> datetime.date:
    """An ISO date, which YAML 1.2 gives as text."""
    if not isinstance(value, str):
        raise problem(codes.WRONG_TYPE, f"expected a date, found {describe(value)}", "write it as 2026-08-22")
    if _DATE.fullmatch(value):
        try:
            return datetime.date.fromisoformat(value)
        except ValueError:
            raise problem(
                codes.MALFORMED, f"there is no day {quote(value)}", "write year-month-day, as 2026-08-22"
            ) from None
    raise problem(codes.MALFORMED, f"{quote(value)} is not a date", "write year-month-day, as 2026-08-22")


def read_replicas(value: Any) -> str:
    """Replica numbers as `0-7`, `8` or `0-3,8`, without blanks."""
    hint = "write numbers and ranges, as 0-7 or 0-3,8"
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise problem(codes.WRONG_TYPE, f"expected replica numbers, found {describe(value)}", hint)
    parts = [part.strip() for part in str(value).split(",")]
    for part in parts:
        found = _REPLICAS.fullmatch(part)
        if found is None:
            raise problem(codes.MALFORMED, f"{quote(str(value))} is not a list of replica numbers", hint)
        if found[2] is not None and int(found[2]) < int(found[1]):
            raise problem(codes.MALFORMED, f"the range '{part}' ends before it begins", hint)
    return ",".join(parts)


def read_fraction(value: Any) -> float:
    """A relative margin: `5%` or `0.05`."""
    if isinstance(value, str):
        found = _PERCENT.fullmatch(value.strip())
        if found is None:
            raise problem(
                codes.BAD_MARGIN, f"expected a percentage or a fraction, found {describe(value)}", "write 5% or 0.05"
            )
        value = float(found[1]) / 100
    fraction = _margin(value)
    if fraction >= 1:
        raise problem(
            codes.BAD_MARGIN,
            f"a margin of {fraction * 100:g} % is no margin",
            "a bare number is a fraction: write 5% or 0.05",
        )
    return fraction


def read_difference(value: Any) -> float:
    """An absolute margin, in the metric's own unit."""
    if isinstance(value, str) and value.rstrip().endswith("%"):
        raise problem(
            codes.BAD_MARGIN,
            f"expected a difference in the metric's own unit, found {describe(value)}",
            "a percentage of what is not clear here; write 0.02 for two points of a metric between 0 and 1",
        )
    return _margin(value)


def _margin(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise problem(codes.BAD_MARGIN, f"expected a number, found {describe(value)}", "write a number, as 0.02")
    if not math.isfinite(value) or value < 0:
        raise problem(
            codes.BAD_MARGIN, f"expected a number of 0 or more, found {describe(value)}", "write a number, as 0.02"
        )
    return float(value)


def read_change(value: Any) -> str:
    """A knob class, or a knob's dotted name."""
    text = read_name(value)
    if text in KNOB_CLASSES or "." in text.strip("."):
        return text
    found = closest(text, KNOB_CLASSES)
    guess = f"did you mean '{found}'? " if found else f"the classes are: {', '.join(KNOB_CLASSES)}; "
    raise problem(
        codes.UNKNOWN_CHANGE,
        f"{quote(text)} is neither a knob class nor a dotted knob name",
        f"{guess}{'A' if found else 'a'} knob is written with its whole key, as trainer.nnodes",
    )


def read_metric(value: Any) -> str:
    """A canonical metric, or `step`."""
    text = read_name(value)
    if text != "step" and text not in METRICS:
        tails = {name.split(".", 1)[1]: name for name in METRICS}
        found = tails.get(text)
        hint = f"did you mean '{found}'?" if found else suggest(text, ("step", *METRICS), "metrics")
        raise problem(codes.UNKNOWN_METRIC, f"{quote(text)} is not a canonical metric", hint)
    return text


def read_expression(value: Any) -> str:
    """Arithmetic over knobs, without `==`: what a derived knob must equal."""
    text = read_name(value)
    hint = f"write numbers, dotted knob names, + - * / %, brackets and {', '.join(FUNCTIONS)}"
    try:
        sides = len(parse_expression(text).sides)
    except ExpressionError as error:
        raise problem(codes.BAD_EXPRESSION, str(error).replace(text, shorten(text)), hint) from None
    if sides != 1:
        message = f"{quote(text)} has two sides"
        raise problem(codes.BAD_EXPRESSION, message, "write the right side only; the knob is the left one")
    return text


def choice(*words: str) -> Reader:
    """A reader of one word out of several."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            found = closest(value, words) if isinstance(value, str) else None
            hint = f"did you mean '{found}'?" if found else None
            raise problem(codes.NOT_A_CHOICE, f"expected one of {', '.join(words)}, found {describe(value)}", hint)
        return value

    return Reader(read, {"enum": list(words)})


_TEXT_OR_NUMBER = {"type": ["string", "number"]}

VERSION = Reader(read_version, {"const": SUPPORTED_VERSION})
TEXT = Reader(read_text, {"type": "string", "pattern": r"\S"}, as_written=True)
NAME = Reader(read_name, _TEXT_OR_NUMBER, as_written=True)
SLUG = Reader(read_slug, {**_TEXT_OR_NUMBER, "pattern": f"^{_SLUG.pattern}$"}, as_written=True)
PATH = Reader(read_name, {"type": "string", "pattern": r"\S"}, as_written=True)
COUNT = Reader(read_count, {"type": "integer", "minimum": 0})
STEP = Reader(read_step, {"anyOf": [{"const": "auto"}, {"type": "integer", "minimum": 0}]})
DATE = Reader(read_date, {"type": "string", "format": "date", "pattern": f"^{_DATE.pattern}$"})
REPLICAS = Reader(
    read_replicas,
    {
        "anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": r"^[0-9]+(-[0-9]+)?( *, *[0-9]+(-[0-9]+)?)*$"},
        ]
    },
)
FRACTION = Reader(
    read_fraction,
    {
        "anyOf": [
            {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
            {"type": "string", "pattern": r"^\s*([0-9]+(\.[0-9]*)?|\.[0-9]+)\s*%\s*$"},
        ]
    },
)
DIFFERENCE = Reader(read_difference, {"type": "number", "minimum": 0})
CHANGE = Reader(read_change, {"anyOf": [{"enum": list(KNOB_CLASSES)}, {"type": "string", "pattern": r"\."}]})
EXPRESSION = Reader(read_expression, {**_TEXT_OR_NUMBER, "pattern": r"\S"}, as_written=True)
METRIC = Reader(read_metric, {"enum": ["step", *METRICS]})
