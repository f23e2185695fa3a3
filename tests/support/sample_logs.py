"""A few metrics of the sample logs, read with a regular expression of our own, independent of the collectors."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd

from rlreport.run.model import Run

from .made_runs import SEMANTICS, make_run

_NAMES = {
    "timing_s/step": "time.step_s",
    "timing_s/testing": "time.validate_s",
    "timing_s/save_checkpoint": "time.checkpoint_s",
    "perf/total_num_tokens": "work.tokens",
    "response_length/mean": "length.response_mean",
    "critic/rewards/mean": "quality.reward_mean",
    "val-core/openai/gsm8k/reward/mean@1": "quality.accuracy",
}
_LINE = re.compile(r"step:(\d+) - ")


def read_sample(folder: Path, *, contains_validation: bool = False) -> Run:
    """The console log of a sample as a run of 8 devices; validation inside the step's time or outside of it."""
    rows: dict[int, dict[str, float]] = {}
    for line in (folder / "console.log").read_text(errors="replace").splitlines():
        if start := _LINE.search(line):
            row = rows.setdefault(int(start[1]), {})
            for key, name in _NAMES.items():
                if found := re.search(rf" - {re.escape(key)}:(?:np\.\w+\()?([-+.\de]+)", line):
                    row[name] = float(found[1])
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=list(_NAMES.values())).sort_index()
    frame.index.name = "step"
    inside = ("time.checkpoint_s", *(("time.validate_s",) if contains_validation else ()))
    run = make_run({}, run_id=folder.name, semantics=replace(SEMANTICS, contains=inside, excludes=()))
    return replace(run, steps=frame, raw=frame)
