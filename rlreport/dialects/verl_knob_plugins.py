"""Rows that installed plugins add to the tables of knobs, for a trainer of one's own.

A plugin adds rows by an entry point of the group "rlreport.knobs" that names a sequence of `rlreport.run.knobs.KnobRow`.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import entry_points

from rlreport.run.diagnostics import Diagnostic, RlreportError
from rlreport.run.knobs import KnobRow

ENTRY_POINTS = "rlreport.knobs"


def installed_rows() -> tuple[KnobRow, ...]:
    """The rows of installed plugins, by name of their entry points.

    Raises:
        RlreportError: RR300 when a plugin cannot be loaded or gives something else than rows.
    """
    rows: list[KnobRow] = []
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda found: found.name):
        try:
            given = point.load()
        except (ImportError, AttributeError) as error:
            raise _refusal(point.name, point.value, f"cannot be loaded: {error}") from error
        if not isinstance(given, Iterable):
            raise _refusal(point.name, point.value, "gives no sequence of rows")
        found = list(given)
        if not all(isinstance(row, KnobRow) for row in found):
            raise _refusal(point.name, point.value, "gives something else than rows")
        rows += found
    return tuple(rows)


def _refusal(name: str, value: str, reason: str) -> RlreportError:
    message = f"the plugin of knobs '{name}' ({value}) {reason}"
    return RlreportError.of(Diagnostic("RR300", message, hint="mend or uninstall the plugin"))
