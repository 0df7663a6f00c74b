"""The schemas of `--json`. That a command prints what its schema says is part of the tests of that command."""

import re

from exploracoder_jupyter.cli.argument_parser import build_parser
from exploracoder_jupyter.cli.json_results import result_schemas


def test_every_command_but_one_has_a_schema():
    commands = re.findall(r"^    ([a-z]+)\s", build_parser().format_help(), re.MULTILINE)
    assert {*commands} == {*result_schemas()} - {"error"} | {"completion"}
