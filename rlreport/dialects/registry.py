"""Which dialects there are, and which of them reads a run.

A plugin adds a dialect by an entry point of the group "rlreport.dialects" that names a class without arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from importlib.metadata import entry_points

from rlreport.dialects.base import Dialect
from rlreport.dialects.generic import GenericDialect
from rlreport.dialects.verl import VerlDialect
from rlreport.run.diagnostics import Diagnostic, RlreportError
from rlreport.run.model import Run, RunDeclaration
from rlreport.run.raw import RawRun

ENTRY_POINTS = "rlreport.dialects"


def builtin_dialects() -> tuple[Dialect, ...]:
    """The dialects that come with rlreport, in the order in which they are tried."""
    return (VerlDialect(),)


def installed_dialects() -> tuple[Dialect, ...]:
    """The dialects of installed plugins, by name of their entry points.

    Raises:
        RlreportError: RR300 when a plugin cannot be loaded.
    """
    loaded: list[Dialect] = []
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda found: found.name):
        try:
            dialect = point.load()()
        except (ImportError, AttributeError, TypeError) as error:
            message = f"the dialect plugin '{point.name}' ({point.value}) cannot be loaded: {error}"
            raise RlreportError.of(Diagnostic("RR300", message, hint="mend or uninstall the plugin")) from error
        loaded.append(dialect)
    return tuple(loaded)


def interpret_run(raw: RawRun, declared: RunDeclaration, dialects: Sequence[Dialect] | None = None) -> Run:
    """Read a run in the dialect of its declared framework, or in the first dialect that recognises it.

    Args:
        raw: the merged sources of the run.
        declared: what the manifest says of it.
        dialects: the dialects to choose from; None for plugins, then those that come with rlreport.

    Returns:
        The run. When no dialect recognises it its framework is "generic", without any canonical name "unknown".

    Raises:
        RlreportError: RR302 when the declared framework has no dialect.
    """
    known = (*installed_dialects(), *builtin_dialects()) if dialects is None else tuple(dialects)
    generic = GenericDialect()
    if declared.framework is not None:
        for dialect in (*known, generic):
            if dialect.name == declared.framework:
                return dialect.interpret(raw, declared)
        raise RlreportError.of(_unknown_framework(declared, [dialect.name for dialect in (*known, generic)]))
    for dialect in known:
        if dialect.recognises(raw):
            return dialect.interpret(raw, declared)
    return generic.interpret(raw, declared)


def _unknown_framework(declared: RunDeclaration, names: Sequence[str]) -> Diagnostic:
    near = get_close_matches(str(declared.framework), names, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(sorted(set(names)))}"
    return Diagnostic("RR302", f"run '{declared.run_id}': no dialect reads the framework '{declared.framework}'", hint=hint)
