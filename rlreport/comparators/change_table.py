"""A run with more rows in its table of knobs: those of the manifest, and of plugins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rlreport.comparators.change_entries import plain_config
from rlreport.run.knobs import KnobRow
from rlreport.run.model import Run


def with_knobs(run: Run, rows: Sequence[KnobRow]) -> Run:
    """The run with rows added to its dialect's table, and its knobs chosen anew; rows given first win over later ones."""
    if not rows:
        return run
    rules = run.knob_rules.with_rows(rows)
    return replace(run, knob_rules=rules, knobs=rules.tunable(plain_config(run), run.mode))
