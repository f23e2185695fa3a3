"""What a comparison must know of two runs beside their configuration: hardware, code, libraries, seeds, data, model.

Where a source or the manifest tells them they are keys like any other (`environment.hardware`, `data.seed`,
`environment.libraries.torch`); where none does they are not known, which is said and never taken for equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rlreport.comparators.change_values import is_default
from rlreport.run.knobs import KnobRow, KnobRules, matches, plain_value
from rlreport.run.model import Run

MODE_KEY = "execution.mode"
FRAMEWORK_KEY = "framework.name"
VERSION_KEY = "framework.version"
#: Facts of the devices that a manifest may tell of a run: nothing that anybody tunes.
DEVICE_FACTS = ("devices.memory_gb", "trainer.device_memory_gb")
DEVICE_KEYS = {"trainer": "devices.trainer", "rollout": "devices.rollout"}

#: Rows that stand after those of every framework: what is beside its configuration, and what other sources tell.
COMMON_ROWS: tuple[KnobRow, ...] = (
    KnobRow(MODE_KEY, "schedule", "execution mode"),
    KnobRow("devices.trainer", "resources", "Trainer devices", "devices"),
    KnobRow("devices.rollout", "resources", "Rollout devices", "devices"),
    KnobRow(FRAMEWORK_KEY, "environment", "framework"),
    KnobRow(VERSION_KEY, "environment", "framework version"),
    KnobRow("environment.model", "workload", "model", kind="model"),
    KnobRow("environment.dataset", "workload", "training data", kind="files"),
    KnobRow("environment.hardware", "environment", "device model"),
    KnobRow("environment.commit", "environment", "framework commit"),
    KnobRow("environment.image", "environment", "container image"),
    KnobRow("environment.nodes", "resources", "nodes", "nodes"),
    KnobRow("environment.libraries.**", "environment", "library version"),
    KnobRow("environment.**", "environment", "environment"),
    KnobRow("seed", "environment", "seed"),
    KnobRow("**.seed", "environment", "seed"),
    KnobRow("**.random_seed", "environment", "seed"),
    KnobRow("**.data_loader_seed", "environment", "seed of mini-batches"),
)

#: Keys that hold a seed, as patterns.
SEED_PATTERNS = ("seed", "**.seed", "**.random_seed", "**.data_loader_seed")

#: What must be known before a difference in it could be seen, in the order in which it is listed, each with the keys of any
#: framework of which one is enough; a dialect adds its own (`KnobRules.facts`).
COMMON_FACTS: Mapping[str, tuple[str, ...]] = {
    "framework version": ("environment.commit", VERSION_KEY),
    "device model": ("environment.hardware",),
    "library versions": ("environment.libraries.**",),
    "node count": ("environment.nodes",),
    "model": ("environment.model",),
    "training data": ("environment.dataset",),
    "seed": (),
}


def rules_of(run: Run) -> KnobRules:
    """The rules of a run's dialect with the common rows after them, where it has none of its own."""
    rules = run.knob_rules
    own = {row.pattern for row in rules.rows}
    return replace(rules, rows=(*rules.rows, *(row for row in COMMON_ROWS if row.pattern not in own)))


def seeds_of(run: Run, rules: KnobRules | None = None) -> dict[str, Any]:
    """The seeds that somebody chose, by key.

    Null and a framework's defaults tell nothing of how a run was seeded, nor do seeds of parts that do not run.
    """
    rules = rules or rules_of(run)
    values = {key: plain_value(found.value) for key, found in run.config.items()}
    seeds: dict[str, Any] = {}
    for key in sorted(values):
        if values[key] is None or not any(matches(pattern, key) for pattern in SEED_PATTERNS):
            continue
        if not is_default(values[key], rules.row(key)) and rules.inert_in(key, values, run.mode) is None:
            seeds[key] = values[key]
    return seeds


def untold(key: str, other: Run) -> bool:
    """Whether a key is about a run's environment, and no source tells anything of its kind of the other run.

    It is then not known to differ. Where the other run tells some library versions, one that it lacks is a difference. What
    devices are like is told by manifests alone.
    """
    if key in DEVICE_FACTS:
        return key not in other.config
    parts = key.split(".")
    if parts[0] != "environment":
        return False
    kind = ".".join(parts[:2])
    return not any(name == kind or name.startswith(f"{kind}.") for name in other.config)


def not_known(baseline: Run, variant: Run) -> tuple[str, ...]:
    """What no source tells of one run or both, in words: "device model (neither run)", "seed (not of the variant)"."""
    rules = [rules_of(run) for run in (baseline, variant)]
    lacking = []
    for fact in COMMON_FACTS:
        known = [_knows(run, fact, own) for run, own in zip((baseline, variant), rules, strict=True)]
        if not any(known):
            lacking.append(f"{fact} (neither run)")
        elif not all(known):
            lacking.append(f"{fact} (not of the {'variant' if known[0] else 'baseline'})")
    return tuple(lacking)


def fact_keys(run: Run, fact: str) -> tuple[str, ...]:
    """The patterns of the keys that tell a fact of a run."""
    return (*COMMON_FACTS.get(fact, ()), *run.knob_rules.facts.get(fact, ()))


def _knows(run: Run, fact: str, rules: KnobRules) -> bool:
    if fact == "seed":
        return bool(seeds_of(run, rules))
    if fact == "framework version" and run.framework_version is not None:
        return True
    patterns = fact_keys(run, fact)
    return any(
        run.config[key].value is not None and any(matches(pattern, key) for pattern in patterns) for key in run.config
    )
