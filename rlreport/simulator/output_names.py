"""The names by which a scenario asks for what is written, and what each name stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

OutputName = Literal["console", "jsonl", "tensorboard", "rl-insight", "chrome-trace", "rollouts"]

#: What is written for a name, for the documentation.
OUTPUT_MEANINGS: Mapping[OutputName, str] = {
    "console": "`console.log.gz`: what the driver printed, with the defects that the scenario asks for",
    "jsonl": "`metrics.jsonl.gz`: verl's FileLogger, one line a call of the logger, without a clock",
    "tensorboard": "`tensorboard/events.out.tfevents.*`: one record a value, with the time of the call",
    "rl-insight": "`rl-insight/summary_event.json.gz`: generation and training by replica and rank, and nothing else",
    "chrome-trace": "`chrome-trace.json.gz`: every state of every lane, waiting included",
    "rollouts": "`rollouts/<step>.jsonl.gz`: the trained samples with their lengths, without texts",
}
