"""From a manifest's path to a checked `Manifest`, or to every diagnostic at once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlreport.manifest import codes
from rlreport.manifest.model import Manifest
from rlreport.manifest.reading import read_manifest
from rlreport.manifest.wording import describe
from rlreport.manifest.yaml12 import Document, load_yaml
from rlreport.run.diagnostics import EXIT_UNREADABLE, EXIT_USAGE, Diagnostic, Location, RlreportError

if TYPE_CHECKING:
    from rlreport.manifest.checks import Checked
    from rlreport.manifest.shape import ManifestShape


def load_manifest(path: Path, *, allow_outside: bool = False) -> Manifest:
    """Read and check a manifest.

    Args:
        path: the manifest; messages show it as given.
        allow_outside: whether its paths may leave its folder, or be absolute.

    Returns:
        The manifest, with its warnings in `warnings`.

    Raises:
        RlreportError: with every error found (RR1xx, see `codes.CODES`), sorted by place. Its exit code is 3 when the only
            trouble is sources that do not exist, else 2. Warnings are not told beside errors: a misspelt name makes its
            run look unused.
    """
    source = read_manifest(path)
    document = load_yaml(source.text, str(path))
    if not isinstance(document.data, dict):
        raise _failure((*document.diagnostics, _no_mapping(document)))
    shape, checked, problems = _examine(document, path.parent, allow_outside)
    problems = [*document.diagnostics, *problems, *checked.diagnostics]
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors or shape is None:
        raise _failure(errors)
    from rlreport.manifest.build import build_manifest

    return build_manifest(document, shape, checked, path, source.sha256, _sorted(problems))


def _examine(
    document: Document, folder: Path, allow_outside: bool
) -> tuple[ManifestShape | None, Checked, list[Diagnostic]]:
    """Validate the data against the model and run the checks, each as far as the other lets it."""
    from pydantic import ValidationError

    from rlreport.manifest.checks import check_manifest
    from rlreport.manifest.explain import explain
    from rlreport.manifest.paths import Folder
    from rlreport.manifest.schema import reader_at
    from rlreport.manifest.shape import ManifestShape

    for place, text in document.written.items():
        reader = reader_at(place)
        if reader is not None and reader.as_written:
            _put(document.data, place, text)
    checked = check_manifest(document, Folder(folder, allow_outside))
    try:
        return ManifestShape.model_validate(document.data), checked, []
    except ValidationError as error:
        return None, checked, explain(error, document)


def _put(data: Any, place: tuple[str | int, ...], value: str) -> None:
    for part in place[:-1]:
        data = data[part]
    data[place[-1]] = value


def _no_mapping(document: Document) -> Diagnostic:
    hint = "a manifest has the keys version, title, runs and reports; 'rlreport init FOLDER' writes one"
    if document.data is None:
        return Diagnostic(codes.NO_CONTENT, "the manifest is empty", Location(document.path), hint)
    message = f"expected a mapping at the top of the manifest, found {describe(document.data)}"
    return Diagnostic(codes.NO_CONTENT, message, document.value_at(()), hint)


def _failure(problems: Iterable[Diagnostic]) -> RlreportError:
    found = _sorted(problems)
    only_sources = all(problem.code == codes.NO_SOURCE for problem in found)
    return RlreportError.of(found, EXIT_UNREADABLE if only_sources else EXIT_USAGE)


def _sorted(problems: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """By place, each told once: what stands below an alias is met wherever the alias is used."""

    def key(problem: Diagnostic) -> tuple[int, int, str, str]:
        place = problem.location
        return (place and place.line) or 0, (place and place.column) or 0, problem.code, problem.message

    return tuple(sorted(dict.fromkeys(problems), key=key))
