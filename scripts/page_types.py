"""Write the JSON schema of the messages between kernel and page, from which `jlpm types` makes the TypeScript types.

What comes from the kernel is described as it is written, so every field is there; what goes to it, as it is read, so
fields with a default may be left out, but never the `type` by which messages are told apart.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

from exploracoder_jupyter.protocol import browser_messages

SCHEMA = Path(__file__).parent.parent / "labextension" / "messages.schema.json"
CONSTANTS = {
    "EVENTS": browser_messages.EVENTS,
    "CONTROL": browser_messages.CONTROL,
    "VERSION": browser_messages.VERSION,
}
MESSAGES: list[tuple[str, JsonSchemaMode, TypeAdapter[Any]]] = [
    ("Opening", "serialization", TypeAdapter(browser_messages.Opening)),
    ("FromKernel", "serialization", TypeAdapter(browser_messages.FromKernel)),
    ("Answer", "serialization", TypeAdapter(browser_messages.Answer)),
    ("ToKernel", "validation", TypeAdapter(browser_messages.ToKernel)),
    ("Continue", "validation", TypeAdapter(browser_messages.Continue)),
]


class _Schema(GenerateJsonSchema):
    """Says which fields are always there, and names no type after a field."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        told_apart = field["schema"].get("schema", {}).get("type") == "literal"
        return self.mode == "serialization" or told_apart or super().field_is_required(field, total)

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schema() -> str:
    """All messages in one JSON schema, and the constants that go with them."""
    named, shared = TypeAdapter.json_schemas(MESSAGES, schema_generator=_Schema)
    definitions = {**shared["$defs"], **{name: of for (name, _), of in named.items() if "oneOf" in of}}
    definitions["JsonValue"] = {"tsType": "JSONValue"}
    root = {
        "title": "Message",
        "description": "Anything that kernel and page tell one another.",
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name, _, _ in MESSAGES],
        "constants": CONSTANTS,
        "$defs": dict(sorted(definitions.items())),
    }
    return json.dumps(root, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(schema(), encoding="utf-8")
