"""What a command printed with `--json`, checked against the documented schema."""

import json
from functools import cache

from jsonschema import Draft202012Validator

from exploracoder_jupyter.cli.json_results import result_schemas

_schemas = cache(result_schemas)


def json_result(command, text):
    """Return the printed object, which must be as documented: a result of the command, or an error."""
    value = json.loads(text)
    Draft202012Validator(_schemas()["error" if "error" in value else command]).validate(value)
    return value
