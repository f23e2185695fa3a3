"""The headline of verl's validation: one accuracy from the many keys a validation logs.

verl names a core metric `val-core/{data source}/{variable}/{metric}`, where the variable is `acc` if the reward function
returns one and `reward` if not, and the metric is the one over the largest number of samples a prompt
(verl/trainer/ppo/metric_utils.py `process_validation_metrics`). Older logs have `val/test_score/{source}` or
`test_score/{source}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.run.diagnostics import Notice

if TYPE_CHECKING:
    import pandas as pd

_CORE = re.compile(
    r"val-core/(?P<source>.+)/(?P<variable>[^/]+)/(?P<kind>mean|maj|best|pass|worst)@(?P<n>\d+)(?:/(?P<part>mean|std))?"
)
_OLD = re.compile(r"(?:val/)?test_score/(?P<source>.+)")
#: Which variable and which metric speak for a data source, best first.
_VARIABLES = ("acc", "reward")
_KINDS = ("mean", "maj", "pass", "best", "worst")


@dataclass(frozen=True, slots=True)
class CoreKey:
    """One validation key taken apart."""

    key: str
    source: str
    variable: str
    kind: str
    n: int

    @property
    def preference(self) -> tuple[int, str, int, int]:
        """Sorts the key that should speak for its data source first."""
        variable = _VARIABLES.index(self.variable) if self.variable in _VARIABLES else len(_VARIABLES)
        return (variable, self.variable, _KINDS.index(self.kind), -self.n)


def headline_keys(keys: Iterable[str]) -> tuple[CoreKey, ...]:
    """The key that speaks for each data source, by source: `acc` before `reward`, mean@N before others, the largest N."""
    best: dict[str, CoreKey] = {}
    for key in sorted(keys):
        parsed = _parse(key)
        if parsed is not None and (parsed.source not in best or parsed.preference < best[parsed.source].preference):
            best[parsed.source] = parsed
    return tuple(best[source] for source in sorted(best))


def _parse(key: str) -> CoreKey | None:
    core = _CORE.fullmatch(key)
    if core is not None:
        return (
            None if core["part"] == "std" else CoreKey(key, core["source"], core["variable"], core["kind"], int(core["n"]))
        )
    old = _OLD.fullmatch(key)
    return CoreKey(key, old["source"], "reward", "mean", 1) if old is not None else None


def read_accuracy(raw: pd.DataFrame) -> tuple[pd.Series | None, tuple[Notice, ...]]:
    """The mean over data sources of their headline key, by step, and a notice that names what was averaged.

    A step at which a data source is missing gets no value: a mean over other sources would be another quantity.
    """
    chosen = headline_keys(str(key) for key in raw.columns if raw[key].notna().any())
    if not chosen:
        return None, ()
    columns = raw[[core.key for core in chosen]].astype(float)
    complete = columns.notna().all(axis=1)
    if len(chosen) == 1:
        message = f"accuracy is {chosen[0].key}"
    else:
        message = f"accuracy is the plain mean over {len(chosen)} data sources: {', '.join(core.key for core in chosen)}"
    lost = int((columns.notna().any(axis=1) & ~complete).sum())
    if lost:
        message += f"; {lost} steps without all of them have no value"
    if len({(core.variable, core.kind, core.n) for core in chosen}) > 1:
        message += "; the sources do not report the same kind of metric"
    if any(core.variable != "acc" for core in chosen):
        message += "; where the reward function returns no 'acc', this is the mean validation reward"
    series: pd.Series = columns.mean(axis=1).where(complete)
    return series, (Notice("RR320", message),)
