"""The report: a page that stands alone, and Markdown."""
