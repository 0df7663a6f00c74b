"""The JSON schemas of what each command prints with `--json`: for the documentation, and for tests of the commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import JsonValue, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from exploracoder_jupyter.cli import json_results as results
from exploracoder_jupyter.finetuning.training import TrainingReport

Schema = dict[str, JsonValue]

_RESULTS: Final[Mapping[str, Any]] = {
    "run": results.RunResult,
    "check": results.CheckResult,
    "replay": results.RunResult,
    "history": results.HistoryResult | results.Removal | results.AgentCalls,
    "index": results.IndexResult,
    "search": results.SearchResult,
    "find": results.FindResult | results.ChosenLibrary,
    "snippets": results.SnippetsResult | results.Removal,
    "repo": results.RepositoryAnswer | results.RepositoryChange,
    "setup": results.SetupResult,
    "doctor": results.DoctorResult,
    "fork": results.ForkResult,
    "mcp": results.McpResult,
    "skill": results.SkillResult,
    "export": results.ExportResult,
    "bench": results.BenchResult,
    "annotate": results.AnnotateResult,
    "finetune": TrainingReport,
}
"""By command. `completion` prints a script."""


class _Generator(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: object) -> bool:
        return False


class _BenchGenerator(_Generator):
    """Numbers of an evaluation that are infinite or undefined are printed as `null`."""

    def float_schema(self, schema: object) -> dict[str, Any]:
        return {"type": ["number", "null"]}


def result_schemas() -> dict[str, Schema]:
    """Return the schema of each command's result, by command, and that of an error as `error`."""
    generators = {name: _BenchGenerator if name == "bench" else _Generator for name in _RESULTS}
    schemas = {name: _schema(result, generators[name]) for name, result in _RESULTS.items()}
    return {**schemas, "error": _schema(results.ErrorResult, _Generator)}


def _schema(result: Any, generator: type[GenerateJsonSchema]) -> Schema:
    return TypeAdapter(result).json_schema(mode="serialization", schema_generator=generator)
