"""Report to HTML, PDF, Markdown, JSON and the index. They lay out; every number comes formatted from the report."""
