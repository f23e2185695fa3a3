"""What a reader must know of a comparison of configurations beside its differences."""

from __future__ import annotations

from collections.abc import Sequence

from rlreport.comparators.change_entries import Comparison, Entry
from rlreport.run.diagnostics import Notice
from rlreport.run.knobs import KNOB_CLASSES, KnobClass
from rlreport.run.model import Run

#: So many keys that one run only has, without a backend to explain them, speak for different versions of the framework.
VERSION_KEYS = 40
#: How many names a notice spells out.
SHOWN = 5


def classes_of(entries: Sequence[Entry]) -> tuple[KnobClass, ...]:
    """The classes of some entries, in the order of the guide."""
    present = {entry.knob.knob_class for entry in entries}
    return tuple(knob_class for knob_class in KNOB_CLASSES if knob_class in present)


def no_configuration(baseline: Run, variant: Run) -> Notice:
    """That a side's configuration is not known, and where it would come from."""
    sides = [f"the {side} ({run.run_id})" for side, run in (("baseline", baseline), ("variant", variant)) if not run.config]
    message = (
        f"the configuration of {' and '.join(sides)} is not known, so nothing can be said about what changed; add its "
        ".hydra folder or the log with the printed configuration to the sources"
    )
    return Notice("RR401", message)


def partial_notice(partial: Sequence[bool]) -> Notice:
    """Which sides' configuration is known in part."""
    sides = [side for side, lacking in zip(("baseline", "variant"), partial, strict=True) if lacking]
    subject = "configurations of both runs are" if len(sides) > 1 else f"configuration of the {sides[0]} is"
    message = f"the {subject} known in part: what the sources and the manifest do not give is not known to be equal"
    return Notice("RR405", message)


def remarks(comparison: Comparison, moved: Sequence[Entry], ties: Sequence[str]) -> list[Notice]:
    """Equality by name, unknown versions and modes, ties between knobs, and several declared classes."""
    notices: list[Notice] = []
    if comparison.equal_by_name:
        keys = comparison.equal_by_name
        shown = ", ".join(keys[:SHOWN]) + (", ..." if len(keys) > SHOWN else "")
        notices.append(Notice("RR407", f"taken as the same by name, at different paths: {shown}"))
    if any(run.framework_version is None for run in comparison.runs):
        message = "the framework's version is not declared for both runs, so a difference in it would not be seen"
        notices.append(Notice("RR406", message))
    modes = (comparison.baseline.mode, comparison.variant.mode)
    if "unknown" in modes and modes[0] != modes[1]:
        notices.append(Notice("RR409", "the execution mode of one run is not known, so a change of it would not be seen"))
    if ties:
        notices.append(Notice("RR408", f"knobs are tied by: {'; '.join(ties)}"))
    free = [entry for entry in moved if entry.coupled_by is None]
    if len(classes_of(free)) > 1 and all(entry.declared for entry in free):
        message = (
            f"all of {', '.join(classes_of(free))} were declared to change, but with several classes no effect has one cause"
        )
        notices.append(Notice("RR410", message))
    return notices


def version_notice(unexplained: int) -> list[Notice]:
    """That so many keys of one run only speak for two versions of the framework."""
    if unexplained <= VERSION_KEYS:
        return []
    message = f"{unexplained} keys are in one run only: the two probably ran different versions of the framework"
    return [Notice("RR411", message)]
