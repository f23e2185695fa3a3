"""The passes in their order: load runs, analyse reports, compose pages, write files."""
