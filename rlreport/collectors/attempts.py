"""Restarts within one source: a run that was resumed logs steps again, and its later rows replace the earlier ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

#: Keys that a validation logs. Their rows may come late (fully async validates beside training) and prove no restart.
VALIDATION_KEYS: tuple[str, ...] = ("val-core/", "val-aux/", "val/", "test_score/", "validation/", "rollouter/validate_time")

#: Keys of which at least one is in the row of a training step.
TRAINING_KEYS: tuple[str, ...] = (
    "timing_s/",
    "timing/",
    "training/",
    "actor/",
    "train/",
    "perf/",
    "critic/",
    "loss",
    "time.",
)


def is_validation_only(keys: Iterable[str]) -> bool:
    """Whether a row holds nothing but validation metrics."""
    return all(key.startswith(VALIDATION_KEYS) for key in keys)


def is_training(keys: Iterable[str]) -> bool:
    """Whether a row is that of a training step, so that its step number says how far the run is."""
    return any(key.startswith(TRAINING_KEYS) for key in keys)


@dataclass(slots=True)
class AttemptCounter:
    """Counts the attempts of one source from the step numbers in the order in which they were logged.

    An attempt begins when a training step's number goes backwards, when the source says that it resumes (or dumps its
    configuration again) after a training step, or when a validation of step 0 follows training steps. In a source that has
    none of the known training keys, every row but a validation's counts as one of training.
    """

    attempt: int = 0
    _last: int | None = None
    _framework: bool = False
    _announced: bool = False

    @property
    def upcoming(self) -> int:
        """The attempt that the next training row will be counted to, as far as the source has told yet."""
        return self.attempt + (self._announced and self._last is not None)

    def announce(self) -> None:
        """Tell that the source speaks of a resume or a new launch."""
        self._announced = True

    def count(self, step: int, keys: Iterable[str]) -> int:
        """The attempt of the next row."""
        keys = list(keys)
        self._framework = self._framework or is_training(keys)
        training = is_training(keys) if self._framework else not is_validation_only(keys)
        begins = False
        if self._last is not None:
            validates_again = step == 0 and is_validation_only(keys)
            begins = self._announced or (step < self._last and (training or validates_again))
        if begins:
            self.attempt += 1
            self._last = None
        self._announced = False
        if training:
            self._last = step
        return self.attempt
