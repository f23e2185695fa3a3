"""verl's decision whether the Trainer's devices help to generate in the next step of separate_async. Pure bookkeeping.

Source: verl/trainer/ppo/v1/trainer_separate_async.py since pull request 7373 (`_switch_threshold`,
`_adapt_switch_threshold`, `_effective_switch_cost`, `on_step_end`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from rlreport.simulator.records import SwitchDecision
from rlreport.simulator.scenario import Scenario


class SwitchPolicy:
    """What verl remembers between steps; `to_rollout_s` and `to_trainer_s` are the costs of the latest switches."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._knobs = scenario.hybrid
        self.ratio = scenario.hybrid.switch_threshold_ratio
        self.to_rollout_s: deque[float] = deque(maxlen=scenario.hybrid.switch_cost_window_size)
        self.to_trainer_s: deque[float] = deque(maxlen=scenario.hybrid.switch_cost_window_size)
        self._idle_steps = 0
        self._calm_steps = 0
        self._step_wait_s = 0.0
        self._step_wait_samples = 0
        self._wait_s = 0.0
        self._wait_samples = 0

    def threshold(self) -> int:
        """Finished prompts at which the devices are taken back: round(ratio x batch), at least one mini-batch."""
        batch = self._scenario.workload.prompts_per_step
        return min(max(round(self.ratio * batch), self._scenario.trainer.mini_batch_prompts), batch)

    def begin(self) -> int:
        """A step begins; gives its threshold."""
        self._step_wait_s, self._step_wait_samples = 0.0, 0
        return self.threshold()

    def waited(self, seconds: float, missing: int) -> None:
        """The Trainer waited for a mini-batch of which so many prompts were missing when it asked."""
        self._step_wait_s += seconds
        self._step_wait_samples += max(0, missing)

    def decide(self, step: int, sampleable: int) -> SwitchDecision:
        """The end of a step: adapt the ratio, then switch if it promises more than it costs, or to find out."""
        used = self.ratio
        idle = self._step_wait_s > self._scenario.rollout.poll_interval_s
        if self._step_wait_samples > 0 and self._step_wait_s > 0:
            self._wait_s += self._step_wait_s
            self._wait_samples += self._step_wait_samples
        if self._knobs.adaptive_switch_threshold:
            self._adapt(idle)
        remaining = max(0, self.threshold() - sampleable)
        per_sample_s = self._wait_s / self._wait_samples if self._wait_samples else None
        cost_s = self._cost_s()
        pays = True
        if per_sample_s is not None and cost_s is not None:
            scaling = self._scenario.total_devices / self._scenario.rollout_devices
            pays = remaining * per_sample_s * (1.0 - 1.0 / scaling) > cost_s
        return SwitchDecision(
            threshold_ratio=used,
            wait_samples=self._step_wait_samples,
            idle=idle,
            sampleable_count=sampleable,
            remaining=remaining,
            should_switch_to_rollout=step < self._scenario.steps and remaining > 0 and pays,
            per_sample_s=per_sample_s,
            switch_cost_s=cost_s,
        )

    def _adapt(self, idle: bool) -> None:
        knobs = self._knobs
        most = knobs.switch_threshold_release_steps
        self._idle_steps = min(self._idle_steps + 1, most) if idle else 0
        self._calm_steps = 0 if idle else min(self._calm_steps + 1, most)
        if self._idle_steps >= most:
            self.ratio = min(1.0, self.ratio + knobs.switch_threshold_step_up)
        elif self._calm_steps >= most:
            lowest = 1.0 / self._scenario.updates_per_step
            self.ratio = max(lowest, self.ratio - knobs.switch_threshold_step_down)

    def _cost_s(self) -> float | None:
        if not self.to_rollout_s or not self.to_trainer_s:
            return None
        return _mean(self.to_rollout_s) + _mean(self.to_trainer_s)


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)
