"""The typed intermediate representation: raw tables, the Run, metrics with units, knobs with classes, diagnostics."""
