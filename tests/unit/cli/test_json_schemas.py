"""The schemas of `--json`. That a command prints what its schema says is part of the tests of that command."""

import re

from exploracoder_jupyter.cli.argument_parser import build_parser
from exploracoder_jupyter.cli.json_schemas import result_schemas


def test_every_command_has_a_schema_but_the_one_that_prints_a_script():
    commands = re.findall(r"^    ([a-z]+)\s", build_parser().format_help(), re.MULTILINE)
    assert {*commands} == {*result_schemas()} - {"error"} | {"completion"}
