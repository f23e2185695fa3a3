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
    if mode == "separate_async" and config.get(_SWITCH) is True and "time.wait_s" in columns:
        message = (
            "the hybrid switch is on: while the Trainer waits in timing_s/gen its devices may generate, so the wait is an "
            "upper bound of its idle time"
        )
        notices.append(Notice("RR326", message))
    if mode == "fully_async" and "idle.rollout_reported" in columns:
        message = "the Rollouters' idle ratio as logged counts only the time after the last drain of a window: a lower bound"
        notices.append(Notice("RR327", message))
    return tuple(notices)
