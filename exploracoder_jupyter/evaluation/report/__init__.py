"""The report: a page that stands alone, Markdown and JSON."""

from exploracoder_jupyter.evaluation.measures.summary import summary_as_json
from exploracoder_jupyter.evaluation.report.report_page import write_report
from exploracoder_jupyter.evaluation.report.result_table import markdown

__all__ = ["markdown", "summary_as_json", "write_report"]
