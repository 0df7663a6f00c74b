"""The report: a page that stands alone, Markdown and JSON."""

from exploracoder_jupyter.evaluation.report.markdown_table import markdown
from exploracoder_jupyter.evaluation.report.report_page import write_report
from exploracoder_jupyter.evaluation.report.summary_json import summary_as_json

__all__ = ["markdown", "summary_as_json", "write_report"]
