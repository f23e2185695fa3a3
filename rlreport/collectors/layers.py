"""One source, or several that are successive jobs of one run, reduced to one row of values a step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rlreport.collectors.attempts import is_training, is_validation_only
from rlreport.collectors.console_notices import has_three_decimals
from rlreport.run.raw import SourceTable, StepRow

#: Precedence of the formats, best first: files that were written as data come before what was printed for people. An unknown
#: format (of a plugin) stands between them.
RANKS: dict[str, int] = {"verl-jsonl": 0, "tensorboard": 1, "csv": 2, "jsonl-table": 2, "verl-console": 4}
_PLUGIN_RANK = 3
_CUT_RANK = 5

#: Values agree when they differ by less than this fraction.
RELATIVE_TOLERANCE = 1e-3
#: What printing with three decimals can change.
PRINT_TOLERANCE = 0.00051

_AGREEING_SHARE = 0.9

#: Keys of what a console log tells beside its metric lines.
_PRINTED = "console/"


@dataclass(slots=True)
class Layer:
    """The steps of one source or chain of sources.

    `values` maps step -> raw key -> value; `truncated` are the steps of which a line was cut; `wall_s` the Unix time by
    step; `restarts` the first trained step of each later attempt; `retrained` the steps that an earlier attempt had
    trained too; `conflicts` the (step, key, value kept, other value) within one attempt; `rounded` says that numbers have
    three decimals; `successive` that the layer is a chain of several sources.
    """

    tables: list[SourceTable]
    values: dict[int, dict[str, float]] = field(default_factory=dict)
    truncated: set[int] = field(default_factory=set)
    wall_s: dict[int, float] = field(default_factory=dict)
    restarts: list[int] = field(default_factory=list)
    retrained: list[int] = field(default_factory=list)
    conflicts: list[tuple[int, str, float, float]] = field(default_factory=list)
    rounded: bool = False
    successive: bool = False

    @property
    def path(self) -> str:
        """The path of the source with most rows."""
        return max(self.tables, key=lambda table: len(table.rows)).path

    @property
    def why_cut(self) -> str:
        """Why its truncated steps are, in words."""
        if self.tables[0].format == "tensorboard":
            return f"{self.path} ends within it"
        at_limit = any("cut:4096" in table.facts.hints for table in self.tables)
        return f"its line in {self.path} is cut" + (" at 4,096 bytes" if at_limit else "")

    @property
    def rank(self) -> int:
        """Precedence, lower is better."""
        first = self.tables[0]
        if "cut:4096" in first.facts.hints:
            return _CUT_RANK
        return RANKS.get(first.format, _PLUGIN_RANK)


def build_layers(tables: Sequence[SourceTable]) -> list[Layer]:
    """Layers in order of precedence. Sources of one format whose common steps differ are successive jobs: one layer."""
    chains: list[list[SourceTable]] = []
    for table in tables:
        if not table.rows:
            continue
        for chain in chains:
            if chain[0].format == table.format and not any(_same_output(other, table) for other in chain):
                chain.append(table)
                break
        else:
            chains.append([table])
    layers = [_reduce(chain) for chain in chains]
    layers.sort(key=lambda layer: layer.rank)
    return layers


def agrees(a: float, b: float, rounded: bool) -> bool:
    """Whether two readings of a value are the same but for print precision."""
    if math.isnan(a) and math.isnan(b):
        return True
    allowed = max(RELATIVE_TOLERANCE * max(abs(a), abs(b)), PRINT_TOLERANCE if rounded else 0.0)
    return abs(a - b) <= allowed


def _same_output(a: SourceTable, b: SourceTable) -> bool:
    """Whether two sources tell the same of their common steps (a console log and W&B's copy of it)."""
    first = {(row.step, key): value for row in a.rows for key, value in row.values.items()}
    rounded = has_three_decimals(a.rows) or has_three_decimals(b.rows)
    common = same = 0
    for row in b.rows:
        for key, value in row.values.items():
            other = first.get((row.step, key))
            if other is not None:
                common += 1
                same += agrees(value, other, rounded)
    return common > 0 and same >= _AGREEING_SHARE * common


def _reduce(chain: list[SourceTable]) -> Layer:
    ordered = _in_order_of_time(chain)
    layer = Layer(ordered, rounded=all(has_three_decimals(table.rows) for table in ordered), successive=len(ordered) > 1)
    attempts: dict[int, list[StepRow]] = {}
    offset = 0
    for table in ordered:
        for row in table.rows:
            attempts.setdefault(offset + row.attempt, []).append(row)
        offset = max(attempts) + 1
    framework = any(is_training(row.values) for rows in attempts.values() for row in rows)
    kept: list[StepRow] = []
    for attempt in sorted(attempts):
        rows = attempts[attempt]
        trained = [row.step for row in rows if _trains(row, framework)]
        if kept and trained:
            first = min(trained)
            dropped = {row.step for row in kept if row.step >= first and _trains(row, framework)}
            rows = [row for row in (_as_resumed(row, first) for row in rows) if row.values]
            logged_again = {(row.step, key) for row in rows for key in row.values}
            kept = [_without(row, logged_again) for row in kept if row.step < first]
            layer.retrained += sorted(dropped)
            layer.restarts = [step for step in layer.restarts if step < first]
            if kept:
                layer.restarts.append(first)
        kept += rows
    for row in kept:
        _add(layer, row)
    return layer


def _trains(row: StepRow, framework: bool) -> bool:
    """Whether a row is that of a training step; without the framework's keys, every row but a validation's is."""
    if framework or any(key.startswith(_PRINTED) for key in row.values):
        return is_training(row.values)
    return not is_validation_only(row.values)


def _without(row: StepRow, logged_again: set[tuple[int, str]]) -> StepRow:
    """A row of an earlier attempt without what a later one logged again for the same step (a repeated validation)."""
    values = {key: value for key, value in row.values.items() if (row.step, key) not in logged_again}
    return replace(row, values=values)


def _as_resumed(row: StepRow, first: int) -> StepRow:
    """A row of a later attempt, which trains from step `first` on, without what is printed beside the metric lines before.

    A resumed launch of fully async syncs weights before it trains and names the version of the checkpoint. What it prints
    then is about its start-up; the numbers of that version are those of the launch that trained it.
    """
    if row.step >= first:
        return row
    return replace(row, values={key: value for key, value in row.values.items() if not key.startswith(_PRINTED)})


def _in_order_of_time(chain: list[SourceTable]) -> list[SourceTable]:
    """Successive jobs in the order of their clocks; in the given order when one of them has none."""
    starts = [_start(table) for table in chain]
    if len(chain) < 2 or any(start is None for start in starts):
        return list(chain)
    order = sorted(range(len(chain)), key=lambda index: (str(type(starts[index])), starts[index], index))
    return [chain[index] for index in order]


def _start(table: SourceTable) -> str | float | None:
    walls = [row.wall_s for row in table.rows if row.wall_s is not None]
    return min(walls) if walls else table.facts.started_at


def _add(layer: Layer, row: StepRow) -> None:
    """Add a row to its step: the first value of a key stays."""
    values = layer.values.setdefault(row.step, {})
    for key, value in row.values.items():
        old = values.get(key)
        if old is None or (not math.isfinite(old) and math.isfinite(value)):
            values[key] = value
        elif not agrees(old, value, layer.rounded):
            layer.conflicts.append((row.step, key, old, value))
    if row.truncated:
        layer.truncated.add(row.step)
    if row.wall_s is not None:
        layer.wall_s[row.step] = max(row.wall_s, layer.wall_s.get(row.step, row.wall_s))
