"""A line of a console log before it has a prefix: when it was printed and by which of Ray's actors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Actor = Literal[
    "TaskRunnerV1", "OneStepTaskRunner", "FullyAsyncTaskRunner", "FullyAsyncTrainer", "FullyAsyncRollouter", "MessageQueue"
]

#: The process of every actor. Numbers are made up.
PIDS: Mapping[Actor, int] = {
    "TaskRunnerV1": 41873,
    "OneStepTaskRunner": 41873,
    "FullyAsyncTaskRunner": 41873,
    "FullyAsyncTrainer": 42310,
    "FullyAsyncRollouter": 42655,
    "MessageQueue": 43127,
}


@dataclass(frozen=True, slots=True)
class Printed:
    """A printed text and when; it may hold several lines, each of which gets the actor's prefix."""

    at_s: float
    actor: Actor
    text: str


def prefix(actor: Actor) -> str:
    """Ray's prefix of an actor's lines, with its colours."""
    return f"\x1b[36m({actor} pid={PIDS[actor]})\x1b[0m "
