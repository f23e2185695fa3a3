"""The report as data: sections, tables, figure specifications, and the JSON that is written. Numbers are formatted here."""
