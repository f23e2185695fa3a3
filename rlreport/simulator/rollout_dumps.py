"""Rollout dumps of a simulated run (`trainer.rollout_data_dir`): one file a step, one line a trained sample.

Keys: verl/trainer/ppo/ray_trainer.py, `_dump_generations`: input, output, gts, score, step, uid, and whatever the reward
function adds. Texts stay empty. Lengths and parameter versions stand in as extras; a run whose reward function returns them
has the same. What was generated and never trained is in no dump of verl's; here it is in a file of its own, with the same
extras, because a comparison of the two shows whether short answers are trained first.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rlreport.simulator.records import IntArray, StepRecord
from rlreport.simulator.restart import Launch
from rlreport.simulator.traced_window import logged_step, traced_records
from rlreport.simulator.workload import PromptGroup

#: The key of a step's mean score.
SCORE = "critic/score/mean"

#: The name of the file of samples that no step trained.
LEFT_OVER = "left-over"


def rollout_texts(launch: Launch) -> Iterator[tuple[str, str]]:
    """(name without suffix, content) of every dump of a launch. A later launch overwrites the dumps of an earlier one."""
    simulation = launch.simulation
    scores = {call.step: float(call.values[SCORE]) for call in launch.log.calls if SCORE in call.values}
    samples = simulation.scenario.workload.samples_per_prompt
    for record in traced_records(simulation, launch.stopped_s):
        score = scores.get(logged_step(simulation, record), 0.0)
        yield str(record.step), _text(_trained(record, samples, score))
    if simulation.left_over and launch.stopped_s == math.inf:
        yield LEFT_OVER, _text(_untrained(simulation.left_over))


def _text(lines: Iterator[dict[str, Any]]) -> str:
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def _trained(record: StepRecord, samples: int, mean_score: float) -> Iterator[dict[str, Any]]:
    """Every sample of a step; right and wrong answers alternate so that their mean is the step's."""
    columns: list[IntArray] = [
        np.concatenate([getattr(batch, name) for batch in record.batches])
        for name in ("prompt_tokens", "response_tokens", "first_version", "last_version")
    ]
    for index, (prompt, response, first, last) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        score = float(int((index + 1) * mean_score) - int(index * mean_score))
        yield {
            "input": "",
            "output": "",
            "gts": "",
            "score": score,
            "step": record.step,
            "uid": f"{record.step}-{index // samples}",
            "prompt_length": prompt,
            "response_length": response,
            "min_global_steps": first,
            "max_global_steps": last,
        }


def _untrained(groups: Sequence[PromptGroup]) -> Iterator[dict[str, Any]]:
    for group in groups:
        for response, first, last in zip(group.response_tokens, group.first_versions, group.last_versions, strict=True):
            yield {
                "input": "",
                "output": "",
                "prompt_length": group.prompt_tokens,
                "response_length": response,
                "min_global_steps": first,
                "max_global_steps": last,
            }
