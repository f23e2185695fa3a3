from __future__ import annotations

from typing import Any

import pytest
from support.made_runs import make_run

from rlreport.comparators.doubts import doubts
from rlreport.run.model import Devices, Run, SourceSummary


def run(
    name: str, *, trainer: int = 4, rollout: int = 4, implied: float | None = None, digest: str = "", steps: int = 5
) -> Run:
    source = SourceSummary(f"{name}.log", "made", 1, steps, steps, 10, digest or name, ())
    more: dict[str, Any] = {
        "devices": Devices(trainer, rollout, None, trainer + rollout, implied, {}),
        "sources": (source,),
    }
    return make_run({"time.step_s": [1.0]}, run_id=name, **more)


def test_one_file_cannot_be_two_runs() -> None:
    assert doubts(run("a", digest="x"), run("b", digest="x")) == (
        "both arms read the same file, so they are one run and not two",
    )
    assert doubts(run("a", digest="x", steps=0), run("b", digest="x", steps=0)) == ()


def test_a_device_count_that_the_log_contradicts_is_doubted_where_the_ratio_hangs_on_it() -> None:
    wrong, right = run("a", trainer=8, rollout=8, implied=2.0), run("b", trainer=1, rollout=1, implied=2.0)
    assert doubts(wrong, right) == ("the device count of a is doubtful: 16 are counted, its log implies 2.00",)
    assert doubts(wrong, run("c", trainer=8, rollout=8, implied=2.0)) == ()


@pytest.mark.parametrize("implied", [16.05, 8.0, None])
def test_all_devices_and_the_trainers_alone_are_both_possible_denominators(implied: float | None) -> None:
    assert doubts(run("a", trainer=8, rollout=8, implied=implied), run("b")) == ()
