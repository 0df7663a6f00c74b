"""Write the events into the JSON schema of a trace's metadata, from the very types that they are; a test fails when it
is stale. What is written by hand there stays: the cell's object, the notebook's, the record's, and the run id."""

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from exploracoder_jupyter.core.events import Event

SCHEMA = Path(__file__).parent.parent / "exploracoder_jupyter" / "trace" / "metadata.schema.json"
BY_HAND = ("run_id", "notebook", "record")


class _Schema(GenerateJsonSchema):
    """Says that events are told apart by their kind, and names no type after a field."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        told_apart = len(field["schema"].get("schema", {}).get("expected", ())) == 1
        return told_apart or super().field_is_required(field, total)

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schema(text: str) -> str:
    """The schema of this text with the events as they are now."""
    whole: dict[str, Any] = json.loads(text)
    events = TypeAdapter(Event).json_schema(schema_generator=_Schema)
    by_hand = {name: whole["$defs"][name] for name in BY_HAND}
    whole["$defs"] = {**by_hand, "event": _by_kind(events["discriminator"]["mapping"]), **events["$defs"]}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _by_kind(mapping: dict[str, str]) -> dict[str, Any]:
    """One of the events, told apart by its kind alone: that is quick, and what is wrong is said of the right one."""
    kinds = [
        {"if": {"properties": {"kind": {"const": kind}}}, "then": {"$ref": place}} for kind, place in mapping.items()
    ]
    return {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"enum": [*mapping]}},
        "allOf": kinds,
    }


if __name__ == "__main__":
    SCHEMA.write_text(schema(SCHEMA.read_text(encoding="utf-8")), encoding="utf-8")
