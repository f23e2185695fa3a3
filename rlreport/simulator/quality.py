"""The learning curves of a run: reward, validation accuracy, and the policy's statistics that verl logs beside them.

None of this feeds back into the pipeline: it is what a healthy run looks like, with noise that grows with staleness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rlreport.simulator.randomness import AutocorrelatedNoise, stream
from rlreport.simulator.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Curve:
    """One logged statistic that moves from `start` to `end` while the policy learns.

    `per_version` is its relative growth with every version of mean staleness; `relative` and `absolute` are the standard
    deviations of its noise. All values are assumptions: plausible magnitudes, not measurements.
    """

    key: str
    start: float
    end: float
    relative: float = 0.0
    absolute: float = 0.0
    per_version: float = 0.0


CURVES: tuple[Curve, ...] = (
    Curve("actor/entropy", 0.42, 0.31, relative=0.02),
    Curve("actor/pg_loss", 0.006, 0.004, absolute=0.004),
    Curve("actor/pg_clipfrac", 0.0011, 0.0014, relative=0.06, per_version=0.3),
    Curve("actor/pg_clipfrac_lower", 2.0e-5, 2.0e-5, relative=0.25, per_version=0.3),
    Curve("actor/ppo_kl", 0.0006, 0.0008, relative=0.12, per_version=0.4),
    Curve("actor/grad_norm", 0.13, 0.085, relative=0.07, per_version=0.05),
    Curve("actor/perf/cpu_memory_used_gb", 412.0, 418.0, relative=0.004),
    Curve("training/rollout_probs_diff_max", 0.78, 0.84, relative=0.05),
    Curve("training/rollout_probs_diff_mean", 0.0055, 0.0062, relative=0.02, per_version=0.15),
    Curve("training/rollout_probs_diff_std", 0.019, 0.021, relative=0.02, per_version=0.15),
    Curve("training/rollout_actor_probs_pearson_corr", 0.9988, 0.9984, absolute=1e-4),
    Curve("rollout_corr/rollout_is_mean", 0.9994, 0.9991, absolute=4e-4),
    Curve("rollout_corr/rollout_is_min", 0.021, 0.014, relative=0.3),
    Curve("rollout_corr/rollout_is_std", 0.041, 0.047, relative=0.03, per_version=0.2),
    Curve("rollout_corr/rollout_is_eff_sample_size", 0.993, 0.991, absolute=0.0008),
    Curve("rollout_corr/rollout_is_ratio_fraction_high", 0.0008, 0.0010, relative=0.1, per_version=0.4),
    Curve("rollout_corr/rollout_is_ratio_fraction_low", 0.0010, 0.0012, relative=0.1, per_version=0.4),
    Curve("rollout_corr/training_log_ppl", 0.39, 0.285, relative=0.02),
    Curve("rollout_corr/kl", 0.0011, 0.0013, relative=0.06, per_version=0.4),
    Curve("rollout_corr/k3_kl", 0.0012, 0.0014, relative=0.06, per_version=0.4),
    Curve("rollout_corr/log_ppl_diff", 0.0010, 0.0012, relative=0.08, per_version=0.4),
    Curve("rollout_corr/log_ppl_abs_diff", 0.0021, 0.0024, relative=0.05, per_version=0.3),
    Curve("rollout_corr/log_ppl_diff_max", 0.031, 0.036, relative=0.12, per_version=0.2),
    Curve("rollout_corr/log_ppl_diff_min", -0.017, -0.019, relative=0.12, per_version=0.2),
    Curve("rollout_corr/rollout_is_seq_mean", 1.02, 1.03, absolute=0.01),
    Curve("rollout_corr/rollout_is_seq_std", 0.34, 0.38, relative=0.05, per_version=0.2),
    Curve("rollout_corr/chi2_seq", 1.7, 2.1, relative=0.25, per_version=0.5),
    Curve("rollout_corr/chi2_token", 0.0045, 0.0055, relative=0.08, per_version=0.4),
)


def reward_sd(scenario: Scenario, staleness: float) -> float:
    """Standard deviation of a batch's mean reward around its curve, at a mean staleness in versions.

    Assumption: it grows linearly with staleness, by `noise_per_version`. That stale samples make training less stable is
    reported by verl (docs/advance/fully_async.md); how much is not.
    """
    return scenario.quality.reward_noise * (1.0 + scenario.quality.noise_per_version * staleness)


class LearningCurves:
    """Draws the quality of one batch after another; call it in the order of the steps."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._quality = scenario.quality
        noise = AutocorrelatedNoise(stream(scenario.seed, "reward"), 1.0, scenario.noise.autocorrelation)
        self._reward_noise = noise
        self._accuracy = stream(scenario.seed, "accuracy")
        self._metrics = stream(scenario.seed, "metrics")

    def progress(self, step: int) -> float:
        """How much of the long-run gain is reached after a step, 0 to 1."""
        return 1.0 - math.exp(-step / self._quality.steps_constant)

    def reward(self, step: int, staleness: float) -> float:
        """Mean reward of the batch of a step, between 0 and 1; its noise grows with the mean staleness of the batch."""
        q = self._quality
        sd = reward_sd(self._scenario, staleness)
        value = q.reward_start + q.reward_gain * self.progress(step - 1) + sd * self._reward_noise.draw()
        return min(1.0, max(0.0, value))

    def accuracy(self, step: int) -> float:
        """Validation accuracy after a step (0: before training), with the binomial noise of its answers."""
        q = self._quality
        true = min(1.0, max(0.0, q.accuracy_start + q.accuracy_gain * self.progress(step)))
        sd = math.sqrt(true * (1.0 - true) / q.validation_samples)
        return min(1.0, max(0.0, true + sd * float(self._accuracy.standard_normal())))

    def statistics(self, step: int, staleness: float) -> dict[str, float]:
        """Every curve of `CURVES` at a step, by key."""
        noise = [float(z) for z in self._metrics.standard_normal(len(CURVES))]
        reached = self.progress(step)
        return {curve.key: _value(curve, reached, staleness, z) for curve, z in zip(CURVES, noise, strict=True)}


def _value(curve: Curve, progress: float, staleness: float, z: float) -> float:
    level = (curve.start + (curve.end - curve.start) * progress) * (1.0 + curve.per_version * staleness)
    return level * (1.0 + curve.relative * z) + curve.absolute * z
