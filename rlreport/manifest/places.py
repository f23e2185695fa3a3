"""Names of places within a manifest, as messages begin with them: "report 'qwen3-30b': margins.throughput: "."""

from __future__ import annotations

from rlreport.manifest.wording import quote
from rlreport.manifest.yaml12 import DataPath, Document


def label_place(document: Document, path: DataPath, message: str) -> str:
    """A message with the run or report that it is about, and the key within it, put before it."""
    while path and path not in document.values:
        path = path[:-1]
    owner, rest = "", path
    if len(path) > 1 and path[0] == "runs":
        owner, rest = f"run {quote(str(path[1]))}", path[2:]
    elif len(path) > 1 and path[0] == "reports" and isinstance(path[1], int):
        owner, rest = name_report(document, path[1]), path[2:]
    dotted = ""
    for part in rest:
        dotted += f"[{part}]" if isinstance(part, int) else f".{part}"
    return ": ".join(words for words in (owner, dotted.lstrip("."), message) if words)


def name_report(document: Document, index: int) -> str:
    """A report by its id, or by its number from 1 where it has no usable id."""
    report = document.data["reports"][index]
    report_id = report.get("id") if isinstance(report, dict) else None
    return f"report {quote(report_id)}" if isinstance(report_id, str) else f"report {index + 1}"
