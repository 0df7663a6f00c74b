"""A trace's other forms as exporters of nbconvert: `jupyter nbconvert --to explora-html TRACE.ipynb`."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar

from nbconvert.exporters import Exporter
from nbconvert.utils.exceptions import ConversionException
from nbformat import NotebookNode
from traitlets import default

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.export.export_formats import ENDINGS, Form, exported, path_beside
from exploracoder_jupyter.trace import load
from exploracoder_jupyter.trace.stored_records import restored

_Made = tuple[str, Any]
"""As nbconvert has it: the text, and the resources."""


class _TraceExporter(Exporter):
    """A trace in one of its forms."""

    form: ClassVar[Form]

    @default("file_extension")
    def _ending(self) -> str:
        return f".{ENDINGS[self.form].rpartition('.')[2]}"

    def from_filename(self, filename: str, resources: Any = None, **options: Any) -> Any:
        """The form of the trace in this file, or of the journal beside it where that knows more.

        Raises:
            ConversionException: it is no trace, or has nothing to make this form of.
        """
        trace = Path(filename)
        try:
            return self._made(load(trace), trace, resources)
        except UsageError as error:
            raise ConversionException(str(error)) from error

    def from_notebook_node(self, nb: NotebookNode, resources: Any = None, **options: Any) -> Any:
        """The form of a trace that is read already.

        Raises:
            ConversionException: it is no trace, or has nothing to make this form of.
        """
        told = (resources or {}).get("metadata") or {}
        trace = Path(str(told.get("path") or "."), f"{told.get('name') or 'trace'}.ipynb")
        records = restored(deepcopy(nb))
        try:
            if not records:
                raise UsageError(
                    "This notebook is not the trace of a run.", remedy="Name one that an exploration wrote."
                )
            return self._made(records, trace, resources)
        except UsageError as error:
            raise ConversionException(str(error)) from error

    def _made(self, records: list[Record], trace: Path, resources: Any) -> _Made:
        resources = self._init_resources(resources)  # type: ignore[no-untyped-call]
        resources["metadata"] |= {"name": trace.stem, "path": str(trace.parent)}  # where it is written is made of these
        made = exported(records, self.form, trace)
        name = Path(str(resources.get("unique_key") or trace.stem)).name
        target = path_beside(trace.with_name(f"{name}.ipynb"), self.form, made)
        suffix = resources["output_suffix"] = target.stem.removeprefix(name)
        if suffix and "unique_key" in resources and (name == trace.stem or self.form == "script"):
            # with --output-dir, --output and --inplace nbconvert adds no suffix, and would write over the trace
            resources |= {"unique_key": f"{resources['unique_key']}{suffix}", "output_suffix": ""}
        return made, resources


class ReportExporter(_TraceExporter):
    """A trace as one page."""

    form = "html"
    output_mimetype = "text/html"


class ScriptExporter(_TraceExporter):
    """The solution of a trace as a script."""

    form = "script"
    output_mimetype = "text/x-python"


class SelectedExporter(_TraceExporter):
    """A trace without the candidates that lost."""

    form = "notebook"
    output_mimetype = "application/json"
