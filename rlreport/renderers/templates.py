"""The Jinja environment and the style sheets, from the installed package or from the source tree."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_INSTALLED = Path(__file__).resolve().parents[1] / "_templates"
_SOURCE_TREE = Path(__file__).resolve().parents[2] / "templates"


def template_folder() -> Path:
    """The folder of templates: inside an installed package, else at the top of the source tree."""
    return _INSTALLED if _INSTALLED.is_dir() else _SOURCE_TREE


@cache
def environment() -> Environment:
    """The environment that every HTML page is made with: everything is escaped, an undefined name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    env = Environment(
        loader=FileSystemLoader(template_folder()),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    env.filters["breakable"] = _breakable
    env.filters["block_kind"] = lambda block: type(block).__name__
    return env


def _breakable(text: str) -> Markup:
    """A key or path that may break after its dots, slashes and underscores, and nowhere else."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(escape(part) for part in re.split(r"(?<=[._/])(?=[^._/])", text))


@cache
def style_sheets() -> dict[str, str]:
    """The style sheets by name: base, screen, print. They are the project's own and safe to inline."""
    from markupsafe import Markup

    return {name: Markup((template_folder() / f"{name}.css").read_text("utf-8")) for name in ("base", "screen", "print")}
