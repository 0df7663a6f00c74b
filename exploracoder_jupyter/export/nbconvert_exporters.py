"""Exporters for nbconvert: `jupyter nbconvert --to explora-html TRACE.ipynb`."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar

from nbconvert.exporters import Exporter
from nbconvert.utils.exceptions import ConversionException
from nbformat import NotebookNode
from traitlets import default

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.export.export_formats import default_export_path, export_run, exporter
from exploracoder_jupyter.trace import load
from exploracoder_jupyter.trace.storage import read_records

_Result = tuple[str, Any]
"""An exporter's result in nbconvert: the text and the resources."""


class _TraceExporter(Exporter):
    form: ClassVar[str]

    @default("file_extension")
    def _ending(self) -> str:
        return f".{exporter(self.form).ending.rpartition('.')[2]}"

    def from_filename(self, filename: str, resources: Any = None, **options: Any) -> Any:
        """Convert the trace in this file, or the journal next to it if that is more recent."""
        trace = Path(filename)
        return self._convert(lambda: load(trace), trace, resources)

    def from_notebook_node(self, nb: NotebookNode, resources: Any = None, **options: Any) -> Any:
        """Convert a trace that has already been read."""
        metadata = (resources or {}).get("metadata") or {}
        trace = Path(str(metadata.get("path") or "."), f"{metadata.get('name') or 'trace'}.ipynb")
        return self._convert(lambda: read_records(deepcopy(nb)), trace, resources)

    def _convert(self, read: Callable[[], list[Record]], trace: Path, resources: Any) -> _Result:
        try:
            if not (records := read()):
                problem = "This notebook is not the trace of a run."
                raise UsageError(problem, remedy="Use a notebook written by an exploration.")
            content = export_run(records, self.form, trace)
        except UsageError as error:
            raise ConversionException(str(error)) from error
        resources = self._init_resources(resources)  # type: ignore[no-untyped-call]
        resources["metadata"] |= {"name": trace.stem, "path": str(trace.parent)}  # determine the output path
        name = Path(str(resources.get("unique_key") or trace.stem)).name
        target = default_export_path(trace.with_name(f"{name}.ipynb"), self.form, content)
        suffix = resources["output_suffix"] = target.stem.removeprefix(name)
        if suffix and "unique_key" in resources and (name == trace.stem or self.form == "script"):
            # with --output-dir, --output and --inplace nbconvert adds no suffix, and would overwrite the trace
            resources |= {"unique_key": f"{resources['unique_key']}{suffix}", "output_suffix": ""}
        return content, resources


class ReportExporter(_TraceExporter):
    """Exports a trace as an HTML page."""

    form = "html"
    output_mimetype = "text/html"


class ScriptExporter(_TraceExporter):
    """Exports the solution of a trace as a script."""

    form = "script"
    output_mimetype = "text/x-python"


class SelectedExporter(_TraceExporter):
    """Exports a trace as a notebook without the unselected candidates."""

    form = "notebook"
    output_mimetype = "application/json"
