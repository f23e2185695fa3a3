"""A run's `config`: nested maps flattened to dotted keys."""

from __future__ import annotations

from typing import Any

from rlreport.manifest import codes
from rlreport.manifest.places import label_place
from rlreport.manifest.wording import describe
from rlreport.manifest.yaml12 import DataPath, Document
from rlreport.run.diagnostics import Diagnostic


def flatten_config(document: Document, path: DataPath, config: dict[str, Any]) -> tuple[dict[str, Any], list[Diagnostic]]:
    """Join the keys of nested maps with dots.

    Args:
        document: where `config` comes from.
        path: the place of `config` in the document.
        config: scalars, lists of scalars and maps of these.

    Returns:
        Dotted keys to scalars or lists of scalars, in the order of the file, and what is wrong: a key given twice
        (`a.b` and `a: {b: ...}`), a blank key, a list that holds maps or lists.
    """
    flat: dict[str, Any] = {}
    origin: dict[str, DataPath] = {}
    problems: list[Diagnostic] = []

    def visit(value: Any, here: DataPath, parents: tuple[str, ...]) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                visit(inner, (*here, key), (*parents, key))
            return
        dotted = ".".join(parents)
        if not all(part.strip() for part in dotted.split(".")):
            report(codes.MALFORMED, here, f"'{dotted}' is not a configuration key", "write the key as a.b.c")
        elif isinstance(value, list) and any(isinstance(entry, (dict, list)) for entry in value):
            inner_kind = next(describe(entry) for entry in value if isinstance(entry, (dict, list)))
            message = f"'{dotted}': expected a list of scalars, found {inner_kind} within it"
            report(codes.WRONG_TYPE, here, message, "write numbers and texts only")
        elif dotted in flat:
            first = document.key_at(origin[dotted]).line
            report(codes.CONFIG_TWICE, here, f"'{dotted}' is given twice, first on line {first}", "remove one of the two")
        else:
            flat[dotted] = value
            origin[dotted] = here

    def report(code: str, here: DataPath, message: str, hint: str) -> None:
        problems.append(Diagnostic(code, label_place(document, path, message), document.key_at(here), hint))

    visit(config, path, ())
    return flat, problems
