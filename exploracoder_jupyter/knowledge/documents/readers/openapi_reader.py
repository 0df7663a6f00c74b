"""Reads OpenAPI descriptions in JSON or YAML: each operation becomes a function named after its operationId."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from exploracoder_jupyter.core.errors import MissingRequirement
from exploracoder_jupyter.core.types import ApiDoc, Parameter
from exploracoder_jupyter.knowledge.documents.document_set import Page, Section
from exploracoder_jupyter.knowledge.documents.readers.signature_parser import make_api
from exploracoder_jupyter.text.characters import encodable

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_TYPES = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "array": "list", "object": "dict"}
_MAX_OPERATIONS = 5_000
_MAX_FIELDS = 40
_MAX_YAML_CHARS = 4_000_000
_MAX_DEPTH = 8
"""How many references are followed in a row."""
_VERSION_KEY = re.compile(r"""["']?(?:openapi|swagger)["']?\s*:""")

JsonObject = Mapping[str, Any]


def looks_like_openapi(text: str) -> bool:
    """Return whether a JSON or YAML text may be an OpenAPI description; most are not."""
    return _VERSION_KEY.search(text) is not None


def read(text: str, *, yaml: bool) -> Page:
    """Parse an OpenAPI 3 or Swagger 2 description. Raises MissingRequirement if it is YAML and the package that reads
    it is not installed; ValueError if it is not an OpenAPI description.
    """
    try:
        whole = json.loads(
            encodable(json.dumps(_parse_yaml(text) if yaml else json.loads(text), ensure_ascii=False, default=str))
        )
    except RecursionError as error:
        raise ValueError("too deep") from error
    if not isinstance(whole, dict) or not ("openapi" in whole or "swagger" in whole):
        raise ValueError("not an OpenAPI description")
    info = _table(whole.get("info"))
    title = _line(info.get("title")) or "API"
    addresses = filter(None, (_line(_table(server).get("url")) for server in _list(whole.get("servers"))))
    texts = [_text(info.get("description")), *(f"Server: {address}" for address in addresses)]
    about = Section(title, "\n\n".join(filter(None, texts)), "info")
    return Page(
        title, (about,) if about.text else (), tuple(_operations(whole)), project=f"{title} {info.get('version', '')}"
    )


def _parse_yaml(text: str) -> object:
    """Parse a YAML text. Anchors and aliases are rejected, because they may expand without limit."""
    try:
        import yaml  # installed by an extra
    except ImportError as error:
        raise MissingRequirement(
            "Reading YAML needs the package 'pyyaml'.", remedy="Install it: pip install 'exploracoder-jupyter[docs]'."
        ) from error
    if len(text) > _MAX_YAML_CHARS:
        raise ValueError("too much YAML")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=loader)):
            raise ValueError("YAML with anchors")
        return yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        raise ValueError("invalid YAML") from error


def _operations(whole: JsonObject) -> Iterator[ApiDoc]:
    count = 0
    for path, item in _table(whole.get("paths")).items():
        for method in _METHODS:
            operation = _table(item).get(method) if count < _MAX_OPERATIONS else None
            if isinstance(operation, Mapping):
                count += 1
                yield _operation(whole, str(path), method, _table(item), operation)


def _operation(whole: JsonObject, path: str, method: str, item: JsonObject, operation: JsonObject) -> ApiDoc:
    given = [*_list(item.get("parameters")), *_list(operation.get("parameters"))]
    rows = {row.name: row for row in (_parameter(whole, _resolve(whole, one)) for one in given) if row.name}
    body = _body(whole, operation)
    if body:
        rows["body"] = body
    required = [row for row in rows.values() if not row.default]
    ordered = (*required, *(row for row in rows.values() if row.default))
    returns = _returns(whole, operation)
    name = re.sub(r"\W+", "_", _line(operation.get("operationId")) or f"{method} {path}").strip("_")
    head = f"{method.upper()} {path}"
    fields = [f"    {row.name}{f' ({row.type})' if row.type else ''}: {row.about}" for row in ordered]
    fields = ["\n".join(["Parameters:", *fields])] if fields else []
    parts = (_text(operation.get("summary")), head, _text(operation.get("description")), *fields)
    signature = f"({', '.join(map(_format_parameter, ordered))})" + (f" -> {returns}" if returns else "")
    function = make_api(name, "function", signature, "\n\n".join(filter(None, parts)), place=head)
    deprecated = "deprecated" if operation.get("deprecated") is True else None
    return replace(function, parameters=ordered, returns=returns, deprecated=deprecated)


def _parameter(whole: JsonObject, given: JsonObject) -> Parameter:
    schema = _resolve(whole, given.get("schema") or given)
    default = "" if given.get("required") is True else repr(schema.get("default"))[:80]
    about = f"{_text(given.get('description'))} (in: {_line(given.get('in'))})".strip()
    return Parameter(_line(given.get("name")), _type(whole, schema), default, " ".join(about.split()))


def _body(whole: JsonObject, operation: JsonObject) -> Parameter | None:
    request = _resolve(whole, operation.get("requestBody"))
    contents = _table(request.get("content"))
    if not contents:
        return None
    kind, content = next(iter(contents.items()))
    schema = _table(content).get("schema")
    described = _resolve(whole, schema)
    required, items = _list(described.get("required")), list(_table(described.get("properties")).items())
    fields = ", ".join(
        f"{name}: {_type(whole, value)}{'' if name in required else ' (optional)'}"
        for name, value in items[:_MAX_FIELDS]
    )
    about = " ".join(filter(None, (_text(request.get("description")), f"{kind}:", fields))).rstrip(":")
    return Parameter("body", _type(whole, schema), "" if request.get("required") is True else "None", about)


def _returns(whole: JsonObject, operation: JsonObject) -> str:
    successful = [(code, one) for code, one in _table(operation.get("responses")).items() if str(code).startswith("2")]
    for _, answer in successful[:1]:
        found = _resolve(whole, answer)
        schema = next((_table(one).get("schema") for one in _table(found.get("content")).values()), found.get("schema"))
        return _type(whole, schema) if schema else ""
    return ""


def _type(whole: JsonObject, schema: object, depth: int = 0) -> str:
    given = _table(schema)
    if isinstance(name := given.get("$ref"), str):
        return name.rpartition("/")[2]
    kind = given.get("type")
    if kind == "array" and depth < _MAX_DEPTH:
        return f"list[{_type(whole, given.get('items'), depth + 1) or 'Any'}]"
    if values := _list(given.get("enum")):
        return f"Literal[{', '.join(map(repr, values[:12]))}]"
    return _TYPES.get(str(kind), "")


def _format_parameter(row: Parameter) -> str:
    name = re.sub(r"\W+", "_", row.name)
    typed = f"{name}: {row.type}" if row.type else name
    return f"{typed} = {row.default}" if row.default else typed


def _resolve(whole: JsonObject, given: object) -> JsonObject:
    found: object = given
    for _ in range(_MAX_DEPTH):
        reference = _table(found).get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        found = whole
        for part in reference[2:].split("/"):
            found = _table(found).get(part.replace("~1", "/").replace("~0", "~"))
    return _table(found)


def _table(value: object) -> JsonObject:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _line(value: object) -> str:
    return " ".join(str(value).split())[:300] if isinstance(value, str | int | float) else ""


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
