"""What one framework's names mean: raw keys become canonical metrics and knobs, by execution mode and version."""

from rlreport.dialects.registry import interpret_run

__all__ = ["interpret_run"]
