"""Distributions of single samples: response lengths, generated against trained, and how stale what is trained is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rlreport.comparators.chain import first_value
from rlreport.comparators.window import column_array
from rlreport.run.model import Run
from rlreport.run.samples import SampleTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Quantiles that a table and a figure show.
QUANTILES = (0.5, 0.9, 0.99)
#: Configuration keys that hold the rounds of a version of fully_async.
ROUNDS_PER_VERSION_KEYS = ("async_training.trigger_parameter_sync_step",)
#: Configuration keys that hold the responses to one prompt.
RESPONSES_KEYS = ("actor_rollout_ref.rollout.n",)
#: A distribution is drawn with at most this many points.
MOST_POINTS = 400
#: Staleness from here on is one bar.
MOST_VERSIONS = 8


@dataclass(frozen=True, slots=True)
class LengthDistribution:
    """The response lengths of some samples: (tokens, share of samples up to them), and the quantiles of `QUANTILES`."""

    kind: Literal["generated", "trained"]
    n: int
    points: tuple[tuple[float, float], ...]
    quantiles: tuple[float, ...]
    mean: float


@dataclass(frozen=True, slots=True)
class LengthBias:
    """Generated against trained: the largest distance between both distributions, and what chance alone would give.

    Discarding or postponing long responses starves them: then what is trained is shorter than what is generated. `critical`
    is the distance that two samples of these sizes from one distribution exceed in 5 % of cases at most (Kolmogorov and
    Smirnov, two samples). Responses to one prompt resemble each other: they count as one, which is the worst case.
    """

    distance: float
    critical: float
    mean_ratio: float


def length_distributions(tables: Sequence[SampleTable]) -> tuple[LengthDistribution, ...]:
    """Generated (all samples) and trained response lengths; one distribution where all samples were trained.

    Samples left over at the end were handed out last and are no loss by themselves; they count as generated.
    """
    import numpy as np

    trained = [table.response_tokens for table in tables if table.kind == "trained" and len(table)]
    others = [table.response_tokens for table in tables if table.kind != "trained" and len(table)]
    found = []
    if others and trained:
        found.append(_distribution("generated", np.concatenate([*trained, *others])))
    if trained:
        found.append(_distribution("trained", np.concatenate(trained)))
    return tuple(found)


def responses_of_a_prompt(run: Run) -> int:
    """Responses to one prompt, as the configuration tells; 1 where it does not."""
    found = first_value(run, RESPONSES_KEYS)
    return 1 if found is None else max(int(found[1]), 1)


def length_bias(tables: Sequence[SampleTable], responses: int = 1) -> LengthBias | None:
    """How far trained lengths are from those left over, with so many responses to a prompt; None without both."""
    import numpy as np

    trained = [table.response_tokens for table in tables if table.kind == "trained" and len(table)]
    others = [table.response_tokens for table in tables if table.kind != "trained" and len(table)]
    if not trained or not others:
        return None
    first, second = np.sort(np.concatenate(trained)), np.sort(np.concatenate(others))
    every = np.concatenate([first, second])
    shares = [np.searchsorted(values, every, "right") / len(values) for values in (first, second)]
    distance = float(np.abs(shares[0] - shares[1]).max())
    sizes = len(first) * len(second) / (len(first) + len(second)) / responses
    return LengthBias(distance, float(1.358 / np.sqrt(sizes)), float(first.mean() / np.concatenate([first, second]).mean()))


def _distribution(kind: Literal["generated", "trained"], tokens: NDArray[np.int64]) -> LengthDistribution:
    import numpy as np

    ordered = np.sort(tokens)
    places = np.unique(np.linspace(0, len(ordered) - 1, min(MOST_POINTS, len(ordered))).round().astype(int))
    points = tuple(zip(ordered[places].astype(float).tolist(), ((places + 1) / len(ordered)).tolist(), strict=True))
    quantiles = tuple(float(value) for value in np.quantile(ordered, QUANTILES))
    return LengthDistribution(kind, len(ordered), points, quantiles, float(ordered.mean()))


@dataclass(frozen=True, slots=True)
class StalenessDistribution:
    """Shares by versions behind, from 0 on; the last one counts `MOST_VERSIONS` and more.

    `unit` says what is counted: samples, or steps by their mean staleness where single samples are not known.
    """

    unit: Literal["samples", "steps"]
    shares: tuple[float, ...]
    n: int
    mean: float


def staleness_distribution(run: Run, tables: Sequence[SampleTable]) -> StalenessDistribution | None:
    """How many versions behind the Trainer the last token of each trained sample was; from steps without samples.

    A sample trained in step k by a policy of k - 1 trained steps is k - 1 minus its version behind (V1: trainer_base.py,
    `trajectory_staleness`). In fully_async dumps number rounds: with t of them a version, round r trains on version
    floor((r - 1) / t) (fully_async_trainer.py, `_fit_update_local_step`). A dump with a sample that would be newer than the
    Trainer numbers something else; then steps are counted.
    """
    import numpy as np

    rounds = 1.0
    if run.mode == "fully_async":
        found = first_value(run, ROUNDS_PER_VERSION_KEYS)
        rounds = 0.0 if found is None else found[1]
    ages = [
        (table.step - 1) // int(rounds) - table.last_version
        for table in tables
        if rounds >= 1 and table.kind == "trained" and len(table) and bool((table.last_version >= 0).all())
    ]
    if ages and bool((np.concatenate(ages) >= 0).all()):
        return _shares("samples", np.concatenate(ages).astype(np.float64))
    values = column_array(run, "staleness.mean")
    known = values[np.isfinite(values)]
    return _shares("steps", known) if known.size else None


def _shares(unit: Literal["samples", "steps"], ages: NDArray[np.float64]) -> StalenessDistribution:
    import numpy as np

    whole = np.clip(np.rint(ages), 0, MOST_VERSIONS).astype(int)
    counts = np.bincount(whole, minlength=MOST_VERSIONS + 1)
    last = int(np.flatnonzero(counts)[-1])
    return StalenessDistribution(unit, tuple((counts[: last + 1] / len(whole)).tolist()), len(whole), float(ages.mean()))
