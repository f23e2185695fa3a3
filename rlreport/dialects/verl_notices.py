"""What a reader of a verl run must know before trusting its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rlreport.run.diagnostics import Notice
from rlreport.run.model import Mode

if TYPE_CHECKING:
    import pandas as pd

_SWITCH = "trainer.v1.separate_async.hybrid_rollout.enable_switch"
_BYPASS = "algorithm.rollout_correction.bypass_mode"


def meaning_notices(mode: Mode, config: Mapping[str, Any], columns: Mapping[str, pd.Series]) -> tuple[Notice, ...]:
    """Notices that follow from the mode and the configuration: shifted lines, switched-off or mixed timers."""
    notices: list[Notice] = []
    if mode == "fully_async":
        message = (
            "a fully async line is shifted by one round: the line of version v holds the last round of version v-1 and all "
            "but the last of v. Totals over many versions are right, single lines are not "
            "(verl/experimental/fully_async_policy/fully_async_trainer.py:560-604)"
        )
        notices.append(Notice("RR322", message))
    if config.get(_BYPASS) is True:
        message = (
            f"{_BYPASS} is on: log-probabilities of the sampler are used as they are, so there is no old_log_prob time. "
            "Against a run without it, part of a gain is this saved work"
        )
        notices.append(Notice("RR323", message))
    switches = config.get(_SWITCH) is True or "time.generate_s" in columns
    if mode == "separate_async" and switches and "time.wait_s" in columns:
        message = (
            "the hybrid switch is on: in timing_s/switch_wait the Trainer's devices generate too, so it counts as "
            "generation and not as idle time; in timing_s/gen they have been taken back and are idle "
            "(docs/advance/v1_async_trainer.md; verl/trainer/ppo/v1/trainer_separate_async.py)"
        )
        notices.append(Notice("RR326", message))
    if mode == "fully_async" and "idle.rollout_reported" in columns:
        message = "the Rollouters' logged idle ratio counts the time after the last drain of a window, validation too"
        notices.append(Notice("RR327", message))
    return tuple(notices)
