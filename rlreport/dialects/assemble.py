"""What every dialect does alike: manifest over configuration, the clock, the provenance of sources, the Run itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rlreport.run.diagnostics import Notice
from rlreport.run.knobs import plain_value
from rlreport.run.model import RunDeclaration, SourceSummary
from rlreport.run.raw import ConfigValue, RawRun, SourceTable

if TYPE_CHECKING:
    import pandas as pd

#: Seconds above this are Unix time; below, they count from the run's start.
UNIX_TIME = 1e8


def declared_config(raw: RawRun, declared: RunDeclaration) -> tuple[dict[str, ConfigValue], tuple[Notice, ...]]:
    """The configuration with the manifest's values over it, and a notice for each value that it changes."""
    config = dict(raw.config)
    notices: list[Notice] = []
    for key, value in sorted(flatten(declared.config).items()):
        before = config.get(key)
        if before is not None and plain_value(before.value) != plain_value(value):
            message = f"the manifest sets {key} to {value!r}; {before.origin} says {before.value!r}"
            notices.append(Notice("RR303", message))
        config[key] = ConfigValue(value, "manifest")
    return config, tuple(notices)


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as dotted keys; an empty mapping is a value of its own."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            flat.update(flatten(value, f"{path}."))
        else:
            flat[path] = value
    return flat


def plain_values(config: Mapping[str, ConfigValue]) -> dict[str, Any]:
    """Dotted key -> plain value."""
    return {key: plain_value(found.value) for key, found in config.items()}


def wall_clock(raw: RawRun) -> pd.Series | None:
    """Seconds since the run's first known moment by step, from Unix time or from a progress bar; None without a clock."""
    if not raw.wall_s:
        return None
    import pandas as pd

    moments = pd.Series({step: float(raw.wall_s[step]) for step in sorted(raw.wall_s)}, dtype=float)
    if float(moments.max()) > UNIX_TIME:
        moments = moments - float(moments.min())
    return moments.reindex(raw.frame.index)


def summarise_sources(raw: RawRun) -> tuple[SourceSummary, ...]:
    """The provenance of a run: one summary a source, in the order of precedence."""
    return tuple(_summary(source) for source in raw.sources)


def _summary(source: SourceTable) -> SourceSummary:
    steps = {row.step for row in source.rows}
    return SourceSummary(
        path=source.path,
        format=source.format,
        first_step=min(steps, default=None),
        last_step=max(steps, default=None),
        n_steps=len(steps),
        size_bytes=source.size_bytes,
        sha256=source.sha256,
        notices=tuple(source.notices),
    )


def frame_of(columns: Mapping[str, pd.Series], index: pd.Index[Any]) -> pd.DataFrame:
    """Canonical columns as one frame over all steps of the run, in the order of their names."""
    import pandas as pd

    frame = pd.DataFrame({name: columns[name].reindex(index).astype(float) for name in sorted(columns)}, index=index)
    frame.index.name = "step"
    return frame
