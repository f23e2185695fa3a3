"""How many prompts and trajectories a step of verl takes: from the configuration, checked against the tokens logged.

The check needs no configuration: perf/total_num_tokens counts prompt and response tokens of all samples, and
response_length/mean and prompt_length/mean are means over the same samples (verl/trainer/ppo/metric_utils.py), so their
quotient is the number of trajectories. In fully async lines the means are not weighted: there it is close, not exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rlreport.dialects.numbers import as_count
from rlreport.dialects.verl_modes import PromptRule
from rlreport.run.diagnostics import Notice

if TYPE_CHECKING:
    import pandas as pd

#: Largest relative distance between measured and configured trajectories that counts as agreement.
AGREEMENT = 0.02

_MINI_BATCH = "actor_rollout_ref.actor.ppo_mini_batch_size"
_REQUIRE = "async_training.require_batches"
_TRIGGER = "async_training.trigger_parameter_sync_step"
_SAMPLES_PER_PROMPT = "actor_rollout_ref.rollout.n"


def _product(*keys: str) -> Callable[[Mapping[str, Any]], int | None]:
    def multiply(config: Mapping[str, Any]) -> int | None:
        result = 1
        for key in keys:
            factor = as_count(config.get(key))
            if not factor:
                return None
            result *= factor
        return result

    return multiply


#: Prompts of a step by the rule that the mode table names, from the configuration; None where it does not tell.
PROMPT_RULES: Mapping[PromptRule, Callable[[Mapping[str, Any]], int | None]] = {
    "train batch": _product("data.train_batch_size"),
    "mini-batch": _product(_MINI_BATCH),
    "required samples x trigger": _product(_MINI_BATCH, _REQUIRE, _TRIGGER),
}


@dataclass(frozen=True, slots=True)
class Work:
    """Prompts and trajectories by step, absent (None) where unknown, and what to tell of them."""

    prompts: pd.Series | None
    trajectories: pd.Series | None
    notices: tuple[Notice, ...] = ()


def measured_trajectories(columns: Mapping[str, pd.Series]) -> pd.Series | None:
    """Trajectories by step from tokens over mean length, rounded; None where a part is not logged."""
    parts = ("work.tokens", "length.response_mean", "length.prompt_mean")
    if any(part not in columns for part in parts):
        return None
    tokens, response, prompt = (columns[part] for part in parts)
    length = response + prompt
    quotient: pd.Series = (tokens / length.where(length > 0)).round()
    return quotient if bool(quotient.notna().any()) else None


def samples_per_prompt(config: Mapping[str, Any]) -> int | None:
    """Responses a prompt; fully async repeats the number in a top-level rollout section."""
    return as_count(config.get(_SAMPLES_PER_PROMPT)) or as_count(config.get("rollout.n"))


def configured_prompts(rules: Sequence[PromptRule], config: Mapping[str, Any]) -> int | None:
    """Prompts of a step where all rules that may hold give the same number, else None."""
    numbers = {PROMPT_RULES[rule](config) for rule in rules}
    return numbers.pop() if len(numbers) == 1 else None


def measure_work(columns: Mapping[str, pd.Series], rules: Sequence[PromptRule], config: Mapping[str, Any]) -> Work:
    """Prompts and trajectories of every timed step.

    The configuration decides where the tokens agree with it or say nothing. Where the tokens contradict it, the measured
    number is taken, by step, and told; it is also taken where the configuration is unknown.
    """
    if "time.step_s" not in columns:
        return Work(None, None)
    timed = columns["time.step_s"].notna()
    n = samples_per_prompt(config)
    prompts = configured_prompts(rules, config) if rules else None
    measured = measured_trajectories(columns)
    typical = None if measured is None or not bool(measured.notna().any()) else float(measured.median())
    if prompts is not None and n is not None:
        expected = prompts * n
        if typical is None or abs(typical - expected) <= AGREEMENT * expected:
            return Work(_constant(timed, prompts), _constant(timed, expected))
        message = (
            f"the configuration asks for {expected} trajectories a step ({prompts} prompts x {n}), tokens over mean length "
            f"give {typical:.0f}; the measured number is used"
        )
        return _from_tokens(measured, n, message)
    if typical is not None:
        message = "trajectories of a step are measured as tokens over mean length: the configuration does not tell them"
        return _from_tokens(measured, n, message)
    return Work(_constant(timed, prompts), _constant(timed, prompts * n if prompts and n else None))


def _from_tokens(measured: pd.Series | None, n: int | None, message: str) -> Work:
    prompts = None if measured is None or n is None else measured / n
    return Work(prompts, measured, (Notice("RR325", message),))


def _constant(timed: pd.Series, value: int | None) -> pd.Series | None:
    return None if value is None else timed.map({True: float(value), False: float("nan")})
