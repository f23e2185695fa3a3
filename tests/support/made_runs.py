"""Small runs made by hand: a few columns, plain devices, nothing of a framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from rlreport.run.knobs import Knob
from rlreport.run.model import Devices, Mode, Run, StepSemantics
from rlreport.run.raw import ConfigValue

SEMANTICS = StepSemantics(
    step_is="one batch",
    contains=("time.wait_s", "time.update_actor_s", "time.weight_sync_s", "time.checkpoint_s"),
    excludes=("time.validate_s",),
    throughput_denominator="all devices",
    wait_is="timing_s/gen",
    source="made by hand",
)


def make_run(
    columns: Mapping[str, Sequence[float]],
    *,
    run_id: str = "r",
    label: str | None = None,
    mode: Mode = "separate_async",
    trainer: int | None = 4,
    rollout: int | None = 4,
    first_step: int = 1,
    config: Mapping[str, Any] | None = None,
    knobs: Sequence[Knob] = (),
    semantics: StepSemantics = SEMANTICS,
    **more: Any,
) -> Run:
    """A run whose steps have these columns. Device counts of None are unknown."""
    length = max((len(values) for values in columns.values()), default=0)
    index = pd.RangeIndex(first_step, first_step + length, name="step")
    frame = pd.DataFrame({name: np.asarray(values, float) for name, values in columns.items()}, index=index)
    total = None if trainer is None else trainer + (rollout or 0)
    fields: dict[str, Any] = {
        "run_id": run_id,
        "label": label or run_id,
        "framework": "made",
        "framework_version": None,
        "mode": mode,
        "status": "completed",
        "status_reason": "made by hand",
        "devices": Devices(trainer, rollout, None, total, None, {}),
        "semantics": semantics,
        "steps": frame,
        "raw": frame,
        "config": {key: ConfigValue(value, "made") for key, value in (config or {}).items()},
        "knobs": {knob.key: knob for knob in knobs},
        "sources": (),
        "partial_steps": {},
        "restarts": (),
        "notices": (),
    }
    return Run(**{**fields, **more})
