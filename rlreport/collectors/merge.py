"""The sources of one run become one table: one row a step, one column a raw key, with a stated precedence.

Precedence by step and key: FileLogger JSONL, TensorBoard, generic tables, console logs, console logs cut by W&B. Within one
source the later attempt wins from its first step on (the convention of chained jobs). What sources disagree about, what is
missing and what was recovered is counted and told.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

from rlreport.collectors.layers import PRINT_TOLERANCE, RELATIVE_TOLERANCE, Layer, build_layers
from rlreport.collectors.text import plural, some
from rlreport.run.diagnostics import EXIT_UNREADABLE, Diagnostic, Location, Notice, RlreportError
from rlreport.run.raw import ConfigValue, RawRun, SourceFacts, SourceTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

#: Whose configuration comes first: Hydra's own record, then what was printed at run time, then anything else.
_CONFIG_RANKS: dict[str, int] = {"hydra": 0, "verl-console": 1}
_OTHER_CONFIG_RANK = 2
#: So many configuration values may differ between two jobs of one run: what a restart changes.
RESTART_CHANGES = 6


def merge_sources(tables: Sequence[SourceTable]) -> RawRun:
    """Merge the sources of one run. `RawRun.notices` tells of the merge; the sources keep their own notices."""
    import numpy as np
    import pandas as pd

    layers = build_layers(tables)
    steps = sorted({step for layer in layers for step in layer.values})
    keys = list(dict.fromkeys(key for layer in layers for values in layer.values.values() for key in values))
    matrices = [_matrix(layer, steps, keys) for layer in layers]
    merged = np.full((len(steps), len(keys)), np.nan)
    origin = np.full((len(steps), len(keys)), -1)
    for number, matrix in enumerate(matrices):
        fill = np.isnan(merged) & np.isfinite(matrix)
        merged[fill] = matrix[fill]
        origin[fill] = number
    config, config_notices = _merge_config(tables)
    wall_s, clock_notices = _wall_clock(layers, steps)
    notices = [
        *_disagreements(layers, matrices, merged, origin, steps, keys),
        *_step_notices(layers, matrices, steps),
        *clock_notices,
        *config_notices,
    ]
    return RawRun(
        frame=pd.DataFrame(merged, index=pd.Index(steps, name="step", dtype="int64"), columns=keys),
        config=config,
        facts=_merge_facts(tables, layers),
        sources=tuple(tables),
        key_origin={key: layers[_most_common(origin[:, column])].path for column, key in enumerate(keys) if len(steps)},
        partial_steps=_partial_steps(layers),
        restarts=tuple(sorted({step for layer in layers for step in layer.restarts})),
        wall_s=wall_s,
        notices=tuple(notices),
    )


def require_steps(raw: RawRun) -> None:
    """Raise when no source of the run has a step, a result, a span or a gauge.

    Raises:
        RlreportError: RR210 with the first error line when the run crashed before its first step, RR211 otherwise; both
            with exit code 3.
    """
    if len(raw.frame) or any(s.summaries or s.gauges or s.spans is not None for s in raw.sources):
        return
    failed = next((source for source in raw.sources if source.facts.first_error is not None), None)
    if failed is not None and failed.facts.first_error is not None:
        line, text = failed.facts.first_error
        hint = f"the first error is in line {line}; {plural(failed.facts.tracebacks, 'traceback')} in all"
        message = f"the run crashed before its first step: {text}"
        raise RlreportError.of(Diagnostic("RR210", message, Location(failed.path, line), hint), EXIT_UNREADABLE)
    stub = next((notice for source in raw.sources for notice in source.notices if notice.code == "RR226"), None)
    others = ", ".join(source.path for source in raw.sources[1:])
    message = f"no step was logged, nor in {others}" if others else "no step was logged"
    hint = stub.message if stub else "was the run stopped while it started, or is its metric output in another file?"
    place = Location(raw.sources[0].path) if raw.sources else None
    raise RlreportError.of(Diagnostic("RR211", message, place, hint), EXIT_UNREADABLE)


def require_one_run(raw: RawRun) -> None:
    """Raise when two sources are jobs that train the same steps under different configurations: they are two runs.

    Raises:
        RlreportError: RR214 with exit code 3. A job that starts again from its first step, with what a restart changes (a
            name, a path, where to resume), is one run still.
    """
    jobs = [source for source in raw.sources if source.rows and source.config]
    for first, second in combinations(jobs, 2):
        if first.format != second.format or _first_step(first) != _first_step(second):
            continue
        keys = sorted(first.config.keys() | second.config.keys())
        differing = [key for key in keys if _differs(first.config.get(key), second.config.get(key))]
        if len(differing) <= RESTART_CHANGES:
            continue
        message = (
            f"holds another run than {first.path}: both begin at step {_first_step(first)}, and "
            f"{plural(len(differing), 'configuration value')} differ, such as {differing[0]}"
        )
        hint = "give each run of the manifest its own sources"
        raise RlreportError.of(Diagnostic("RR214", message, Location(second.path), hint), EXIT_UNREADABLE)


def _first_step(source: SourceTable) -> int:
    return min(row.step for row in source.rows)


def _differs(first: ConfigValue | None, second: ConfigValue | None) -> bool:
    if first is None or second is None:
        return True
    return not _equal(first.value, second.value)


def _matrix(layer: Layer, steps: Sequence[int], keys: Sequence[str]) -> Matrix:
    """The layer's values as a matrix of all steps and keys; NaN where it has none."""
    import numpy as np

    column = {key: index for index, key in enumerate(keys)}
    matrix = np.full((len(steps), len(keys)), np.nan)
    for index, step in enumerate(steps):
        for key, value in layer.values.get(step, {}).items():
            matrix[index, column[key]] = value
    return matrix


def _most_common(origins: NDArray[np.int64]) -> int:
    """The layer that most values of a key came from; the first one when the key has no finite value."""
    import numpy as np

    known = origins[origins >= 0]
    return int(np.bincount(known).argmax()) if len(known) else 0


def _disagreements(
    layers: Sequence[Layer],
    matrices: Sequence[Matrix],
    merged: Matrix,
    origin: NDArray[np.int64],
    steps: Sequence[int],
    keys: Sequence[str],
) -> list[Notice]:
    """One notice for every source whose values differ from the merged ones by more than print precision."""
    import numpy as np

    notices: list[Notice] = []
    for number, (layer, matrix) in enumerate(zip(layers, matrices, strict=True)):
        rounded = np.array([other.rounded for other in layers] or [False])
        with np.errstate(invalid="ignore", over="ignore"):
            allowed = RELATIVE_TOLERANCE * np.maximum(np.abs(matrix), np.abs(merged))
            allowed = np.maximum(allowed, np.where(rounded[origin] | layer.rounded, PRINT_TOLERANCE, 0.0))
            differs = np.isfinite(matrix) & np.isfinite(merged) & (origin != number) & (np.abs(matrix - merged) > allowed)
        places = np.argwhere(differs)
        if not len(places):
            continue
        row, column = places[0]
        winner = layers[origin[row, column]]
        example = f"{keys[column]} of step {steps[row]} is {merged[row, column]:.6g} in {winner.path}"
        count = plural(len(places), "value")
        message = f"{count} not the same as in a source that comes first; {example}, {matrix[row, column]:.6g} here"
        notices.append(Notice("RR240", message, layer.path))
    return notices


def _step_notices(layers: Sequence[Layer], matrices: Sequence[Matrix], steps: Sequence[int]) -> list[Notice]:
    import numpy as np

    notices: list[Notice] = []
    if missing := missing_steps(steps):
        notices.append(
            Notice("RR241", f"{plural(len(missing), 'step')} missing between {steps[0]} and {steps[-1]}: {some(missing)}")
        )
    for layer in layers:
        if layer.successive:
            notices.append(_successive(layer))
        if layer.conflicts:
            step, key, kept, other = layer.conflicts[0]
            count = len({(step, key) for step, key, _, _ in layer.conflicts})
            example = f"{key} of step {step} is {kept:.6g} and {other:.6g}"
            message = f"{plural(count, 'value')} logged more than once and differently; the first is used; {example}"
            notices.append(Notice("RR242", message, layer.path))
        if layer.retrained:
            again = sorted(set(layer.retrained))
            message = f"{plural(len(again), 'step')} trained again after a restart, the later values are used: {some(again)}"
            notices.append(Notice("RR243", message, layer.path))
    partial = _partial_steps(layers)
    cut = sorted({step for layer in layers for step in layer.truncated})
    if recovered := [step for step in cut if step not in partial]:
        message = f"{plural(len(recovered), 'step')} cut in one source and complete in another: {some(recovered)}"
        notices.append(Notice("RR244", message))
    if partial:
        message = f"{plural(len(partial), 'step')} incomplete because the source is cut there: {some(sorted(partial))}"
        notices.append(Notice("RR249", message))
    broken = sum(int(np.isinf(matrix).sum()) for matrix in matrices) + sum(_nans(layer) for layer in layers)
    if broken:
        notices.append(Notice("RR245", f"{plural(broken, 'logged value')} nan or infinite, left out"))
    return notices


def missing_steps(steps: Sequence[int]) -> list[int]:
    """The steps missing between the first and the last one; none when every step is logged at one wider, equal distance."""
    if len(steps) < 2:
        return []
    distances = {later - earlier for earlier, later in pairwise(steps)}
    if len(distances) == 1:
        return []
    have = set(steps)
    return [step for step in range(steps[0], steps[-1]) if step not in have]


def _nans(layer: Layer) -> int:
    return sum(math.isnan(value) for values in layer.values.values() for value in values.values())


def _successive(layer: Layer) -> Notice:
    parts = []
    for table in layer.tables:
        trained = [row.step for row in table.rows]
        parts.append(f"{table.path} (steps {min(trained)} to {max(trained)})")
    message = f"taken as successive jobs of one run, a later one replaces the steps from its first on: {', '.join(parts)}"
    first = min(row.step for row in layer.tables[0].rows)
    if any(min(row.step for row in table.rows) <= first for table in layer.tables[1:]):
        message += "; a later one begins where the first began: are these different runs?"
    return Notice("RR248", message)


def _partial_steps(layers: Iterable[Layer]) -> dict[int, str]:
    """The steps that no source has whole, with the reason."""
    whole: set[int] = set()
    cut: dict[int, str] = {}
    for layer in layers:
        whole |= layer.values.keys() - layer.truncated
        for step in layer.truncated:
            cut.setdefault(step, layer.why_cut)
    return {step: cut[step] for step in sorted(cut) if step not in whole}


def _wall_clock(layers: Sequence[Layer], steps: Sequence[int]) -> tuple[dict[int, float], list[Notice]]:
    """Time by step: the clock of the best source that has one, else the progress bar's elapsed time of the best source."""
    clocked = next((layer for layer in layers if layer.wall_s), None)
    if clocked is not None:
        return {step: clocked.wall_s[step] for step in steps if step in clocked.wall_s}, []
    for layer in layers:
        elapsed = _elapsed(layer)
        wall_s = {step: elapsed[step] for step in steps if step in elapsed}
        if len(wall_s) > 1:
            message = "time is the progress bar's elapsed time, in whole seconds"
            if layer.restarts:
                message += "; the time between a stop and the restart is not in it"
            return wall_s, [Notice("RR246", message, layer.path)]
    return {}, []


def _elapsed(layer: Layer) -> dict[int, float]:
    """Elapsed seconds by step over successive jobs: each goes on where the one before stopped."""
    elapsed: dict[int, float] = {}
    before = 0.0
    for table in layer.tables:
        own = table.facts.elapsed_s
        if own:
            first = min(own)
            elapsed = {step: seconds for step, seconds in elapsed.items() if step <= first}
            for step, seconds in own.items():
                elapsed.setdefault(step, before + seconds)
            before += max(own.values())
    return elapsed


def _merge_facts(tables: Sequence[SourceTable], layers: Sequence[Layer]) -> SourceFacts:
    """What the sources tell together. What tells of the end (exit code, progress) is that of the last job that has it."""
    merged = SourceFacts()
    for layer in reversed(layers):
        for table in layer.tables:
            facts = table.facts
            merged.progress = facts.progress or merged.progress
            merged.exit_code = merged.exit_code if facts.exit_code is None else facts.exit_code
            merged.elapsed_s = _elapsed(layer) or merged.elapsed_s
    in_layers = {id(table) for layer in layers for table in layer.tables}
    for table in tables:
        facts = table.facts
        if id(table) not in in_layers:
            merged.progress = merged.progress or facts.progress
            merged.exit_code = facts.exit_code if merged.exit_code is None else merged.exit_code
        merged.first_error = merged.first_error or facts.first_error
        merged.final_validation = merged.final_validation or facts.final_validation
        merged.hints |= facts.hints
    merged.tracebacks = max(
        [sum(table.facts.tracebacks for table in layer.tables) for layer in layers]
        + [table.facts.tracebacks for table in tables],
        default=0,
    )
    merged.resumed_from = sorted({step for table in tables for step in table.facts.resumed_from})
    merged.started_at = min((table.facts.started_at for table in tables if table.facts.started_at), default=None)
    return merged


def _merge_config(tables: Sequence[SourceTable]) -> tuple[dict[str, ConfigValue], list[Notice]]:
    """Per key the first source that has it: Hydra, then console logs (the later job first), then others."""
    order = sorted(
        range(len(tables)),
        key=lambda index: (
            _CONFIG_RANKS.get(tables[index].format, _OTHER_CONFIG_RANK),
            _descending(tables[index].facts.started_at),
            index,
        ),
    )
    config: dict[str, ConfigValue] = {}
    differing: list[str] = []
    for index in order:
        for key, value in tables[index].config.items():
            kept = config.setdefault(key, value)
            if not _equal(kept.value, value.value):
                differing.append(f"{key} is {kept.value!r} in {kept.origin} and {value.value!r} in {value.origin}")
    if not differing:
        return config, []
    message = (
        f"{plural(len(differing), 'configuration value')} not the same in all sources, the first is used: {differing[0]}"
    )
    return config, [Notice("RR247", message)]


def _descending(text: str | None) -> tuple[int, ...]:
    """A sort key by which later dates come first and unknown ones last."""
    return (1,) if text is None else (0, *(-ord(letter) for letter in text))


def _equal(a: Any, b: Any) -> bool:
    """Whether two configuration values are the same; a list and a tuple of the same items are, 1 and True are not."""
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_equal(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)
