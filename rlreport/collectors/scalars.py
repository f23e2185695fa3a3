"""YAML as configuration files of training frameworks mean it: `1e-6` is a number, `on` and `16:16` are strings.

OmegaConf and Hydra read YAML 1.1 with these corrections (source: omegaconf/_utils.py, get_yaml_loader).
"""

from __future__ import annotations

import re
from typing import Any

import yaml

_BASE: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ConfigLoader(_BASE):  # type: ignore[misc, valid-type]
    """A safe loader whose plain scalars are null, true, false, integers, floats with or without a point, and strings."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9_]*)", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+|\.[0-9]+(?:[eE][-+]?[0-9]+)?"
        r"|\.?(?:inf|Inf|INF))|\.?(?:nan|NaN|NAN)",
        list("-+0123456789.inIN"),
    ),
):
    ConfigLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)


def read_scalar(text: str) -> Any:
    """A value as an override or an interpolation's default writes it; a text that is not YAML is returned as it is."""
    try:
        return yaml.load(text, Loader=ConfigLoader)
    except yaml.YAMLError:
        return text
