from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.made_runs import make_run
from support.raw_runs import SYNC_CONFIG, raw_run, timed_row

from rlreport.comparators.change import compare_config
from rlreport.comparators.change_work import step_against_throughput
from rlreport.comparators.results import Change, ThroughputComparison
from rlreport.comparators.steady_state import find_steady_state
from rlreport.comparators.throughput import compare_throughput
from rlreport.dialects import interpret_run
from rlreport.dialects.verl_knobs import VERL_RULES
from rlreport.run.model import Run, RunDeclaration

N = "actor_rollout_ref.rollout.n"


def _compared(baseline: Run, variant: Run) -> ThroughputComparison:
    return compare_throughput(baseline, variant, find_steady_state(baseline), find_steady_state(variant))


def _change(changed: Mapping[str, Any], declared: tuple[str, ...] = ("work",), before: int = 5) -> Change:
    runs = [
        interpret_run(raw_run({1: timed_row()}, {**SYNC_CONFIG, N: before, **more}), RunDeclaration("r"))
        for more in ({}, changed)
    ]
    return compare_config(runs[0], runs[1], declared=declared)


def _run(step_s: float, tokens: float, steps: int = 30, **more: Any) -> Run:
    wobble = [1 + 0.01 * ((7 * i) % 5 - 2) for i in range(steps)]
    return make_run({"time.step_s": [step_s * w for w in wobble], "work.tokens": [tokens * w for w in wobble]}, **more)


def test_a_shorter_step_that_does_less_is_set_against_throughput() -> None:
    # 1200 s and 5.0 M tokens against 900 s and 4.0 M: 25 % less time, 20 % fewer tokens, so 0.8 / 0.75 = 6.7 % more speed.
    throughput = _compared(_run(1200, 5.0e6), _run(900, 4.0e6))
    (notice,) = step_against_throughput(_change({N: 4}), throughput, VERL_RULES)
    assert notice.code == "RR420"
    assert notice.message == (
        "a step of the variant takes 25.0 % less time, but holds 20.0 % fewer tokens (samples per prompt 5 against 4): "
        "tokens/s per device rise by 6.7 %, and that is what counts"
    )


def test_equal_work_says_nothing_and_longer_responses_only_when_much_longer() -> None:
    assert step_against_throughput(_change({N: 4}), _compared(_run(1200, 5e6), _run(900, 5e6)), VERL_RULES) == []
    longer = _compared(_run(1000, 5e6), _run(1030, 5.15e6))  # 3 % more tokens
    assert step_against_throughput(_change({"trainer.test_freq": 4}), longer, VERL_RULES) == []
    assert len(step_against_throughput(_change({N: 6}), longer, VERL_RULES)) == 1
    much = _compared(_run(1000, 5e6), _run(1100, 5.5e6))
    (notice,) = step_against_throughput(_change({"trainer.test_freq": 4}), much, VERL_RULES)
    assert "takes 10.0 % more time, but holds 10.0 % more tokens: tokens/s per device stay the same" in notice.message
    same = _compared(_run(1000, 5e6), _run(1000, 6e6))
    (notice,) = step_against_throughput(_change({N: 6}), same, VERL_RULES)
    assert "takes as much time, and holds 20.0 % more tokens" in notice.message


def test_knobs_that_do_not_decide_the_work_of_a_step_are_not_named() -> None:
    throughput = _compared(_run(1200, 5.0e6), _run(900, 4.0e6))
    micro = {"actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 4}
    (notice,) = step_against_throughput(_change(micro), throughput, VERL_RULES)
    assert "holds 20.0 % fewer tokens: tokens/s" in notice.message
    (notice,) = step_against_throughput(_change({N: 4}), throughput)  # of another framework
    assert "holds 20.0 % fewer tokens: tokens/s" in notice.message


def test_without_devices_it_speaks_of_the_whole_run_and_without_tokens_not_at_all() -> None:
    unknown = {"trainer": None, "rollout": None}
    (notice,) = step_against_throughput(
        _change({N: 4}), _compared(_run(1200, 5e6, **unknown), _run(900, 4e6, **unknown)), VERL_RULES
    )
    assert ": tokens/s rise by 6.7 %" in notice.message
    steps_only = [make_run({"time.step_s": [float(s)] * 20}) for s in (100, 80)]
    assert step_against_throughput(_change({N: 4}), _compared(*steps_only), VERL_RULES) == []


def test_the_published_trap_is_confounded_and_has_both_its_numbers(samples: Path) -> None:
    """A published pair: rollout.n went 5 to 4 with other knobs, and only one step of each run is known."""
    found = json.loads((samples / "verl-excerpts/metax-c550-single-change-trap.json").read_text("utf-8"))
    runs = [
        make_run(
            {"time.step_s": [side["timing_s/step"]], "work.tokens": [side["perf/total_num_tokens"]]}, trainer=8, rollout=0
        )
        for side in (found["before"], found["after"])
    ]
    throughput = _compared(*runs)
    assert throughput.headline.verdict == "insufficient-data"
    others = {"actor_rollout_ref.rollout.gpu_memory_utilization": 0.8, "actor_rollout_ref.actor.use_torch_compile": False}
    before, after = (side["rollout.n"] for side in (found["before"], found["after"]))
    change = _change({N: after, **others}, declared=("work",), before=before)
    assert change.verdict == "confounded"
    (notice,) = step_against_throughput(change, throughput, VERL_RULES)
    step, speed = (found["derived"][name] for name in ("step_time_change", "throughput_change"))
    tokens = [side["perf/total_num_tokens"] for side in (found["before"], found["after"])]
    assert step < 0 < speed
    assert f"takes {-step:.1%} less time".replace("%", " %") in notice.message
    assert f"holds {1 - tokens[1] / tokens[0]:.1%} fewer tokens".replace("%", " %") in notice.message
    assert f"(samples per prompt {before} against {after})" in notice.message
    assert f"tokens/s per device rise by {speed:.1%}".replace("%", " %") in notice.message
