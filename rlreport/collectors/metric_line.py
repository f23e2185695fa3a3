"""The grammar of one metric line of a verl console log.

A line is `step:12 - critic/score/mean:0.5 - timing_s/step:43.2`. The separator is exactly " - ", key and value part at the
last colon, and a value is a Python number as some version of the framework printed it: `:.3f` (to mid-2025), `repr`, or the
`repr` of a numpy scalar such as `np.float64(0.5)` (source: verl/utils/logger/aggregate_logger.py, concat_dict_to_str).

Output of other processes may be glued to the end, and a line may be cut anywhere. A number is used only when its end is
certain: a wrong value is worse than a missing one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import msgspec

SEPARATOR = " - "

STEP = re.compile(r"step:(\d{1,12})(?= - |\s*-?\s*$)")

_NUMBER = r"[-+]?(?:\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|nan|inf)|True|False|None"
VALUE = re.compile(rf"(?:np\.[A-Za-z_]\w*\(({_NUMBER})\)|({_NUMBER}))")

#: Where foreign output begins inside a line: a colour, a carriage return, an actor's prefix, the next metric line.
_FOREIGN = re.compile(
    r"\x1b|\r|\((?:(?:[^()\s]+ )?[A-Za-z_][\w.]*(?:\([^()]*\))? )?pid=\d+"
    r"|(?:(?<![A-Za-z_/@.\-])|(?<=nan)|(?<=inf)|(?<=rue)|(?<=lse)|(?<=one))step:\d{1,12} - "
)
#: Glued text before which the end of a number is certain. Digits and what joins digits are not in it: `12.3` followed by
#: `07-30 10:20` may have been another number.
_CERTAIN_GLUE = re.compile(r"\s|[(\[{<'\"\x1b]|/[A-Za-z]|[A-Za-z]{3,}|[^\x00-\x7f\ufffd]")

#: A carriage return within a number.
_NUMBER_GOES_ON = re.compile(r"\r+[0-9.eE+\-]")

_PART = r"[^\s:=,;'\"{}\[\]<>|\\`\x00-\x20\x7f\ufffd]"
_KEY = re.compile(rf"[A-Za-z_]{_PART}*(?:(?::[A-Za-z_]{_PART}*)+|(?: +{_PART}+)+)?")
_KEY_LENGTH = 200

#: A numpy scalar that is a whole value.
_NUMPY = re.compile(r"np\.[A-Za-z_]\w*\(([-+.0-9einfa]+)\)(?= - |$)")

#: What JSON does not know: nan and inf.
_PLAIN = re.compile(r"-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf)")
#: Reading numbers as a JSON list is four times as fast as one by one.
_NUMBERS = msgspec.json.Decoder(list[float])

_MAX_LAYOUTS = 1000

_WORDS = {"True": 1.0, "False": 0.0}
_THREE_DECIMALS = re.compile(r"-?\d+\.\d{3}|nan|-?inf")


@dataclass(frozen=True, slots=True)
class MetricLine:
    """One metric line as read.

    `values` are in the order of the line; nan and inf are kept, None and what cannot be read is not there. `truncated` says
    that the line ends within a key or a value, or that its last number is not certain. `rest` is the text after the last
    value that does not belong to the line. `dropped` counts damaged items within the line.
    """

    step: int
    values: dict[str, float]
    truncated: bool = False
    rest: str = ""
    dropped: int = 0


def parse_metric_line(body: str) -> MetricLine | None:
    """Read one metric line that begins with `step:`; None when the text does not begin like one.

    The end of the text counts as the end of the line. A text that begins like one and holds no readable value gives a line
    without values.
    """
    return MetricLineParser().parse(body)


def is_key(text: str) -> bool:
    """Whether a text can be a metric's name.

    Free text (the name of a data source) may stand inside of a key with a slash; a key with a colon has no spaces.
    """
    if len(text) > _KEY_LENGTH or not _KEY.fullmatch(text):
        return False
    return " " not in text or "/" in text.partition(" ")[0]


def read_value(text: str) -> tuple[float | None, str] | None:
    """Read the value at the beginning of a text: (number or None for `None`, remaining text); None when there is none."""
    match = VALUE.match(text)
    if match is None:
        return None
    word = match[1] or match[2]
    rest = text[match.end() :]
    if word == "None":
        return None, rest
    return _WORDS[word] if word in _WORDS else float(word), rest


def is_item(text: str) -> bool:
    """Whether a text is one whole `key:value`."""
    key, colon, value = text.rpartition(":")
    return bool(colon) and is_key(key) and VALUE.fullmatch(value) is not None


def without_last_value(line: MetricLine) -> MetricLine:
    """The line without its last value and marked as truncated: for a value whose end is not certain."""
    kept = dict(line.values)
    if kept:
        kept.popitem()
    return MetricLine(line.step, kept, True, line.rest, line.dropped)


def ends_certainly(body: str) -> bool:
    """Whether the last value of a line is whole although no line end follows it.

    That is so when it is closed (`np.float64(0.5)`), a word, or the third decimal of a line in which every number has three.
    """
    texts = [item.rpartition(":")[2] for item in body.split(SEPARATOR)[1:]]
    if not texts:
        return False
    if texts[-1].endswith(")") or texts[-1] in ("True", "False", "None", "nan"):
        return True
    return len(texts) >= 3 and all(_THREE_DECIMALS.fullmatch(text) for text in texts)


@dataclass(slots=True)
class MetricLineParser:
    """Reads the metric lines of one source; remembers the keys it has found to be well-formed, which makes it fast."""

    known: dict[str, str] = field(default_factory=dict)
    _layouts: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    def parse(self, body: str) -> MetricLine | None:
        """As `parse_metric_line`."""
        match = STEP.match(body)
        if match is None:
            return None
        step = int(match[1])
        start = match.end() + len(SEPARATOR)
        if len(body) <= start:
            return MetricLine(step, {}, truncated=True)
        text = body[start:]
        values = self._read_clean(_NUMPY.sub(r"\1", text) if "np." in text else text)
        if values is not None:
            return MetricLine(step, values)
        return self._read_tolerantly(step, text)

    def _read_clean(self, text: str) -> dict[str, float] | None:
        """The values of a line of known keys and plain numbers, without a second look at anything; None otherwise."""
        parts = text.replace(SEPARATOR, ":").split(":")
        keys = tuple(parts[::2])
        known = self._layouts.get(keys)
        if known is None:
            known = self._new_layout(keys)
            if known is None:
                return None
        numbers = _plain_numbers(parts[1::2])
        return dict(zip(known, numbers, strict=True)) if numbers is not None and len(numbers) == len(known) else None

    def _new_layout(self, keys: tuple[str, ...]) -> tuple[str, ...] | None:
        """The keys of a line, each as it was first seen; None when one of them is new or comes twice."""
        if len(set(keys)) < len(keys) or any(key not in self.known for key in keys):
            return None
        known = tuple(self.known[key] for key in keys)
        if len(self._layouts) < _MAX_LAYOUTS:
            self._layouts[keys] = known
        return known

    def _read_tolerantly(self, step: int, text: str) -> MetricLine:
        """Item by item, with every kind of damage in mind."""
        rest = ""
        if foreign := _FOREIGN.search(text):
            text, rest = text[: foreign.start()], text[foreign.start() :]
            if _NUMBER_GOES_ON.match(rest):
                text += "?"
        items = _split_items(text)
        values: dict[str, float] = {}
        dropped = 0
        for index, item in enumerate(items):
            last = index == len(items) - 1
            found = self._read_item(item)
            if found is None:
                if last:
                    return MetricLine(step, values, True, rest, dropped)
                dropped += 1
                continue
            key, value, remainder = found
            if last and remainder.strip() == "-":
                self._keep(values, key, value)
                return MetricLine(step, values, True, rest, dropped)
            if remainder:
                glued = _CERTAIN_GLUE.match(remainder) is not None
                if last and glued:
                    rest = remainder + rest
                elif last:
                    return MetricLine(step, values, True, rest, dropped)
                elif glued and not is_item(items[index + 1]):
                    self._keep(values, key, value)
                    return MetricLine(step, values, False, SEPARATOR.join([remainder, *items[index + 1 :]]) + rest, dropped)
                else:
                    dropped += 1
                    continue
            if not self._keep(values, key, value):
                dropped += 1
        return MetricLine(step, values, False, rest, dropped)

    def _read_item(self, item: str) -> tuple[str, float | None, str] | None:
        """(key, value, what follows the value) of an item; the last colon counts unless glued text has colons of its own."""
        key, colon, text = item.rpartition(":")
        if colon and self._is_key(key) and (read := read_value(text)):
            return key, read[0], read[1] if read[1].strip() else ""
        for colon_at in (position for position, letter in enumerate(item) if letter == ":"):
            key, text = item[:colon_at], item[colon_at + 1 :]
            if self._is_key(key) and (read := read_value(text)) and _CERTAIN_GLUE.match(read[1]):
                return key, read[0], read[1]
        return None

    def _is_key(self, key: str) -> bool:
        if key in self.known:
            return True
        if not is_key(key):
            return False
        if ":" not in key:
            self.known[key] = key
        return True

    def _keep(self, values: dict[str, float], key: str, value: float | None) -> bool:
        """Store a value; the first of a repeated key wins. False when a different value was there."""
        if value is None:
            return True
        if key in values:
            return values[key] == value
        values[self.known.get(key, key)] = value
        return True


def _plain_numbers(texts: list[str]) -> list[float] | None:
    """Numbers as Python prints them; None when one of the texts is something else."""
    try:
        return _NUMBERS.decode(f"[{','.join(texts)}]")
    except msgspec.DecodeError:
        pass
    if not all(_PLAIN.fullmatch(text) for text in texts):
        return None
    return [float(text) for text in texts]


def _split_items(text: str) -> list[str]:
    """Split at the separator, except within the name of a validation data source that itself holds " - "."""
    items: list[str] = []
    open_key = ""
    for item in text.split(SEPARATOR):
        whole = f"{open_key}{SEPARATOR}{item}" if open_key else item
        if ":" not in whole and whole.startswith("val") and "/" in whole:
            open_key = whole
            continue
        if open_key and not is_item(whole):
            items.extend((open_key, item))
        else:
            items.append(whole)
        open_key = ""
    if open_key:
        items.append(open_key)
    return items
