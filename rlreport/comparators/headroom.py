"""How much memory the Trainer's devices have left, and how large a token budget the data support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rlreport.comparators.chain import first_value
from rlreport.comparators.window import column_array
from rlreport.run.knobs import plain_value
from rlreport.run.model import Run

#: Configuration keys that hold the memory of one Trainer device in GB. No framework logs it: the manifest may give it.
DEVICE_MEMORY_KEYS = ("devices.memory_gb", "trainer.device_memory_gb")
#: Tokens of a micro-batch on one device, which decide the memory of its activations, and the switch that turns them on.
BUDGET_KEYS = ("actor_rollout_ref.actor.ppo_max_token_len_per_gpu",)
DYNAMIC_KEY = "actor_rollout_ref.actor.use_dynamic_bsz"
#: Share of a device's memory that is kept free: fragmentation, longer batches and the sync's buffers need it.
SAFETY_MARGIN = 0.10
#: A budget is not recommended beyond this multiple of the largest one that was measured.
_FARTHEST = 2.0
#: Budgets are recommended in steps of so many tokens.
_GRAIN = 1024


@dataclass(frozen=True, slots=True)
class Headroom:
    """Memory of one run's Trainer devices.

    `reserved_gb` is the largest value of all logged steps (one step is enough to run out of memory) and `at_step` its step;
    `device_gb` the memory of a device with its `origin`; `free_fraction` what is left of it; `budget_tokens` the token
    budget in force. What is not known is None.
    """

    reserved_gb: float | None
    at_step: int | None
    device_gb: float | None
    origin: str | None
    margin: float
    budget_tokens: float | None

    @property
    def free_fraction(self) -> float | None:
        """Share of the device's memory that was never reserved."""
        if self.reserved_gb is None or self.device_gb is None:
            return None
        return 1 - self.reserved_gb / self.device_gb

    @property
    def limit_gb(self) -> float | None:
        """What may be reserved while the safety margin stays free."""
        return None if self.device_gb is None else (1 - self.margin) * self.device_gb

    @property
    def within_margin(self) -> bool | None:
        """Whether the safety margin is free."""
        free = self.free_fraction
        return None if free is None else free >= self.margin


@dataclass(frozen=True, slots=True)
class BudgetAdvice:
    """The largest token budget that keeps the safety margin, None where the data do not bound it.

    `basis` says how memory was taken to grow with the budget, or why nothing is recommended.
    """

    tokens: int | None
    basis: str


def measure_headroom(run: Run, margin: float = SAFETY_MARGIN) -> Headroom:
    """The largest reserved memory against the memory of a device, as far as logs, configuration and manifest tell."""
    import numpy as np

    values = column_array(run, "memory.reserved_gb")
    reserved_gb: float | None = None
    at_step: int | None = None
    if bool(np.isfinite(values).any()):
        place = int(np.nanargmax(values))
        reserved_gb, at_step = float(values[place]), int(run.steps.index[place])
    device = first_value(run, DEVICE_MEMORY_KEYS)
    dynamic = plain_value(run.value(DYNAMIC_KEY))
    budget = None if dynamic is False else first_value(run, BUDGET_KEYS)
    return Headroom(
        reserved_gb,
        at_step,
        None if device is None else device[1],
        None if device is None else run.config[device[0]].origin,
        margin,
        None if budget is None else budget[1],
    )


def advise_budget(last: Headroom, pair: tuple[Headroom, Headroom] | None = None) -> BudgetAdvice:
    """The budget up to which `last` may go.

    With a pair of runs that differ in the budget alone, memory is taken as linear in it through both points. Without one,
    all of it is taken as proportional to the budget: too much for the part that does not grow, so the advice errs on the
    safe side upwards, and none is given downwards. Never beyond twice the largest budget that was measured.
    """
    if last.device_gb is None:
        return BudgetAdvice(None, "the memory of a device is not known: headroom unknown")
    limit, reserved, budget = last.limit_gb, last.reserved_gb, last.budget_tokens
    if limit is None or reserved is None:
        return BudgetAdvice(None, "reserved memory is not logged: headroom unknown")
    if budget is None:
        return BudgetAdvice(None, "no token budget is in force")
    slope = _slope_gb_per_token(pair)
    if slope is not None:
        tokens = budget + (limit - reserved) / slope
        basis = "linear through the two runs that differ in the budget alone"
    elif reserved > limit:
        return BudgetAdvice(None, "the margin is used up, and how memory falls with the budget is not known")
    else:
        tokens = budget * limit / reserved
        basis = "all memory taken as proportional to the budget"
    most = _FARTHEST * max([budget, *(one.budget_tokens or 0.0 for one in pair or ())])
    capped = int(min(tokens, most) // _GRAIN * _GRAIN)
    if capped <= 0:
        return BudgetAdvice(None, "no budget keeps the margin")
    if tokens > most:
        basis += ", and not beyond twice the largest budget measured"
    return BudgetAdvice(capped, basis)


def _slope_gb_per_token(pair: Sequence[Headroom] | None) -> float | None:
    """Growth of reserved memory with the budget between two runs; None unless both rise together."""
    if pair is None:
        return None
    (low_gb, low), (high_gb, high) = ((one.reserved_gb, one.budget_tokens) for one in pair)
    if low_gb is None or high_gb is None or low is None or high is None or low == high:
        return None
    slope = (high_gb - low_gb) / (high - low)
    return slope if slope > 0 else None
