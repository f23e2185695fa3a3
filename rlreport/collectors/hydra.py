"""Hydra's record of a configuration (format "hydra"): the folder `.hydra` with config.yaml, overrides.yaml, hydra.yaml.

`config.yaml` is the composed configuration with its interpolations unresolved. They are resolved here where nothing but the
configuration itself decides them; the others are left out and counted.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import yaml

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.files import unreadable
from rlreport.collectors.flatten import Path as KeyPath
from rlreport.collectors.flatten import dotted, flatten, origin_of
from rlreport.collectors.interpolation import UNRESOLVED, Resolver
from rlreport.collectors.scalars import ConfigLoader
from rlreport.collectors.text import plural
from rlreport.run.diagnostics import Notice
from rlreport.run.raw import ConfigValue, SourceTable

CONFIG_FILE = "config.yaml"
_FILES = frozenset({CONFIG_FILE, "overrides.yaml", "hydra.yaml"})

#: Two sections of every policy trainer's configuration. W&B's copy, in which `value:` follows each key, is another format.
_MARK = re.compile(rb"(?m)^(?:actor_rollout_ref|algorithm):[ \t]*\r?\n(?!\s+(?:value|desc):)")


class HydraCollector:
    """Reads a `.hydra` folder, or a config.yaml of that kind alone."""

    format = "hydra"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the folder is Hydra's and holds nothing else, or the file is a policy trainer's configuration."""
        if path.is_dir():
            if not (path / CONFIG_FILE).is_file():
                return False
            names = {entry.name for entry in path.iterdir()}
            return path.name == ".hydra" or (len(names) > 1 and names <= _FILES)
        return path.suffix in (".yaml", ".yml") and len(set(_MARK.findall(head))) == 2

    def owns(self, folder: Path) -> bool:
        """Whatever a folder of Hydra's holds belongs to it."""
        return True

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        """Read the configuration.

        Raises:
            RlreportError: RR209 when it is not a YAML mapping.
        """
        file = path / CONFIG_FILE if path.is_dir() else path
        display = f"{options.display}/{CONFIG_FILE}" if path.is_dir() else options.display
        raw = file.read_bytes()
        tree, lines = _load(raw, display)
        table = SourceTable(options.display, self.format, size_bytes=len(raw), sha256=hashlib.sha256(raw).hexdigest())
        resolved = Resolver(tree).resolve(tree, ())
        unresolved: list[str] = []
        for key_path, value in flatten(resolved):
            key = dotted(key_path)
            if value is UNRESOLVED or (isinstance(value, list) and any(item is UNRESOLVED for item in value)):
                unresolved.append(key)
                continue
            line = origin_of(key_path, lines.get)
            table.config[key] = ConfigValue(value, display if line is None else f"{display}:{line}")
        if unresolved:
            message = (
                f"{plural(len(unresolved), 'configuration value')} cannot be resolved from the configuration alone "
                f"and left out: {', '.join(unresolved[:5])}"
            )
            table.notices.append(Notice("RR235", message, display))
        if path.is_dir():
            _read_job(path / "hydra.yaml", table)
        return table


def _load(raw: bytes, display: str) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """The tree of a YAML file and the line of every key."""
    try:
        loader = ConfigLoader(raw)
        try:
            node = loader.get_single_node()
            tree = loader.construct_document(node) if node is not None else None
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else None
        raise unreadable(
            "RR209", "the configuration is not valid YAML", display, getattr(error, "problem", None), line
        ) from error
    if not isinstance(tree, dict):
        raise unreadable("RR209", "the configuration is not a YAML mapping", display)
    lines: dict[KeyPath, int] = {}
    _collect_lines(node, (), lines)
    return tree, lines


def _collect_lines(node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int]) -> None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*path, str(key.value))
            lines[inner] = key.start_mark.line + 1
            _collect_lines(value, inner, lines)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            lines[(*path, index)] = value.start_mark.line + 1
            _collect_lines(value, (*path, index), lines)


def _read_job(file: Path, table: SourceTable) -> None:
    """The name of the program, from hydra.yaml, as a hint."""
    if not file.is_file():
        return
    try:
        tree = yaml.load(file.read_bytes(), Loader=ConfigLoader)
        name = tree["hydra"]["job"]["name"]
    except (yaml.YAMLError, ValueError, RecursionError, KeyError, TypeError):
        table.notices.append(Notice("RR239", "hydra.yaml cannot be read", f"{table.path}/{file.name}"))
        return
    if isinstance(name, str):
        table.facts.hints.add(f"job:{name}")
