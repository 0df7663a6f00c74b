"""Does a small model that has learned to search write better programs? Prepares, samples and scores four arms.

    python benchmarks/tuned_model.py prepare FOLDER FILE ... [--python INTERPRETER]
    python benchmarks/tuned_model.py sample FOLDER NAME MODEL SERVER [--search] [--samples 10] [--seed 0]
    python benchmarks/tuned_model.py score FOLDER FILE ... [--python INTERPRETER]

FILE is a problem file, INTERPRETER that of an environment with its libraries. `prepare` writes the prompts of the
strategies `direct` and `apisearch`, and the index of each library, into FOLDER: sampling then needs neither the
libraries nor a kernel. `sample` generates all replies of one arm, which NAME names, through llama.cpp's `llama-server`
at the address SERVER, with the tokenizer in the folder MODEL. Prompts, stops and answers are those of a run with
`--model adapter:MODEL`; a reply has at most 256 tokens between look-ups. `score` runs each program with
the hidden tests in a process of its own, but without the confinement of a run: give it a machine that may be lost.
`data/tuned_model` and its folders `changed_rows` and `ten_samples` have the samples of the published tables; each is a
FOLDER for `score`.
"""

import argparse
import asyncio
import gzip
import json
import re
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
import numpy as np
from pydantic import TypeAdapter

from exploracoder_jupyter.core.configuration.sources import resolve
from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.core.types import ApiDoc, Message
from exploracoder_jupyter.evaluation.problem_files import load_problems
from exploracoder_jupyter.evaluation.problems import Problem
from exploracoder_jupyter.evaluation.results import Ratio, pass_at_k
from exploracoder_jupyter.evaluation.scoring import task_of
from exploracoder_jupyter.evaluation.statistics import bootstrap
from exploracoder_jupyter.finetuning.base_model import LoadedModel
from exploracoder_jupyter.knowledge.knowledge_cache import pack_arrays, unpack_arrays
from exploracoder_jupyter.knowledge.search.api_index import ApiIndex
from exploracoder_jupyter.pipeline.prompting.lookup_notation import (
    ARROW,
    END,
    MOST_FOUND,
    find_lookups,
    find_request,
    format_answer,
    has_code,
    strip_lookups,
)
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import StrategyInputs
from exploracoder_jupyter.pipeline.prompting.replies import parse_code
from exploracoder_jupyter.pipeline.prompting.requests import render
from exploracoder_jupyter.runs.library_search import open_library

MOST_TOKENS: Final = 256
"""Tokens of one reply, up to its end or to a look-up."""
MOST_LOOKUPS: Final = 12
MOST_WITHOUT_CODE: Final = 3
AT_ONCE: Final = 8
"""Requests at the same time; the server is started with as many slots."""
TEMPERATURE, TOP_P = 0.4, 0.95
SECONDS: Final = 10
"""Time limit of one test."""
APIS = TypeAdapter(tuple[ApiDoc, ...])
NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(slots=True)
class Row:
    """One sample while it is written."""

    problem: str
    library: str
    messages: tuple[Message, ...]
    seed: int = 0
    written: str = ""
    """What is complete: code, look-ups and their answers."""
    lookups: int = 0
    in_a_row: int = 0
    """Look-ups without any code between them."""
    done: bool = False
    problems: list[str] = field(default_factory=list)


async def problems_of(files: Sequence[Path], python: str) -> list[Problem]:
    settings = resolve({"sandbox": {"python": python}})
    return [problem for file in files for problem in (await load_problems(file, settings)).problems]


async def prepare(folder: Path, files: Sequence[Path], python: str) -> None:
    """Write prompts and indexes."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for problem in await problems_of(files, python):
        [library] = problem.libraries
        messages = render("strategy", StrategyInputs("exploracoder_jupyter.strategies:direct", task_of(problem)))
        rows.append({"problem": problem.id, "library": library, "messages": [(m.role, m.content) for m in messages]})
    (folder / "prompts.json").write_text(json.dumps(rows))
    for library in sorted({str(row["library"]) for row in rows}):
        layers = [{"sandbox": {"python": python}}]
        async with open_library([library], layers, lambda *state: None, print) as opened:
            index = opened._index
            (folder / f"{library}.apis.gz").write_bytes(gzip.compress(APIS.dump_json(tuple(index.apis))))
            (folder / f"{library}.npz").write_bytes(pack_arrays(index.arrays()))


def read_index(folder: Path, library: str) -> ApiIndex:
    apis = APIS.validate_json(gzip.decompress((folder / f"{library}.apis.gz").read_bytes()))
    return ApiIndex.reopen(apis, unpack_arrays((folder / f"{library}.npz").read_bytes()))


def sample(folder: Path, name: str, model: Path, server: str, *, search: bool, samples: int, seed: int) -> None:
    """Generate all replies of one arm, and write them."""
    from transformers import AutoTokenizer

    loaded = LoadedModel(None, AutoTokenizer.from_pretrained(model), closing="")
    prompts = json.loads((folder / "prompts.json").read_text())
    rows = [
        Row(one["problem"], one["library"], tuple(Message(*pair) for pair in one["messages"]), seed=seed + number)
        for one in prompts
        for number in range(samples)
    ]
    indexes = {library: read_index(folder, library) for library in {row.library for row in rows}} if search else {}
    answers: dict[tuple[str, str], str] = {}

    def write(row: Row) -> None:
        while not row.done:
            take(row, generate(server, loaded, row, search), indexes, answers)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number, _ in enumerate(pool.map(write, rows), 1):
            if number % 100 == 0:
                print(f"{name}: {number} of {len(rows)} are complete", flush=True)
    lines = (json.dumps({"problem": row.problem, "text": row.written, "problems": row.problems}) for row in rows)
    (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode(), 9))


def take(row: Row, reply: str, indexes: dict[str, ApiIndex], answers: dict[tuple[str, str], str]) -> None:
    """Add a reply to its row, with the answer to its look-up; as `requests` does for one draft."""
    asked = find_request(reply) if indexes else None
    if asked is None or row.lookups >= MOST_LOOKUPS:
        row.written, row.done = row.written + reply, True
        return
    row.in_a_row = 1 if has_code(asked.code) else row.in_a_row + 1
    if row.in_a_row > MOST_WITHOUT_CODE:
        row.done, row.problems = True, ["it searches without writing code"]
        return
    query = " ".join(asked.query.split())[:400]
    if (row.library, query) not in answers:
        found = asyncio.run(indexes[row.library].search(query, MOST_FOUND))
        answers[row.library, query] = format_answer([one.api for one in found])
    row.lookups += 1
    row.written += f"{asked.written}{answers[row.library, query]}{END}"


def generate(server: str, loaded: LoadedModel, row: Row, search: bool) -> str:
    """Continue a row up to its end or, in the search arm, to the arrow of a look-up."""
    begun = (*row.messages, *([Message("assistant", row.written)] if row.written else []))
    asked = {
        "prompt": loaded.prompt(begun),
        "n_predict": MOST_TOKENS,
        "temperature": TEMPERATURE,
        "top_p": TOP_P,
        "top_k": 0,
        "min_p": 0,
        "repeat_penalty": 1,
        "seed": row.seed + 1000 * row.lookups,
        "stop": ["<|im_end|>", "<|im_start|>", *([ARROW] if search else [])],
        "cache_prompt": True,
    }
    request = urllib.request.Request(f"{server}/completion", json.dumps(asked).encode())
    with urllib.request.urlopen(request, timeout=600) as response:
        reply = json.load(response)
    return str(reply["content"]) + ARROW * (reply["stopping_word"] == ARROW)


def program(sampled: dict[str, Any]) -> str:
    """Return the code of a sample; empty if it has none."""
    try:
        return "" if sampled["problems"] else parse_code(strip_lookups(sampled["text"]))
    except ReplyError:
        return ""


def uses(text: str) -> Iterator[tuple[bool, bool]]:
    """Yield for each look-up whether the rest of its line names an API of the answer, and whether the first one."""
    for lookup in find_lookups(text):
        start, stop = lookup.answer_span
        names = [line.partition("(")[0].partition(":")[0].rpartition(".")[2] for line in text[start:stop].splitlines()]
        line = strip_lookups(text[stop:]).partition("\n")[0]
        named = {*NAME.findall(line)}
        yield bool(named & {*names}), bool(names) and names[0] in named


def score(folder: Path, files: Sequence[Path], python: str) -> None:
    """Run all programs, and print a table for each set."""
    import verify_problems

    verify_problems.SECONDS = SECONDS
    problems = {problem.id: problem for problem in anyio.run(problems_of, files, python)}
    for path in sorted(folder.glob("*.jsonl.gz")):
        samples = [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
        for file in files:
            mine = [one for one in samples if problems[one["problem"]].problem_set == file.stem]
            programs = list(dict.fromkeys((one["problem"], code) for one in mine if (code := program(one))))
            found = verify_problems.errors(
                [problems[id_] for id_, _ in programs], [code for _, code in programs], python
            )
            passed = {pair for pair, error in zip(programs, found, strict=True) if not error}
            print_row(file.stem, path.name.partition(".")[0], mine, passed)


def print_row(set_: str, arm: str, samples: Sequence[dict[str, Any]], passed: set[tuple[str, str]]) -> None:
    ids = list(dict.fromkeys(one["problem"] for one in samples))
    places = {id_: place for place, id_ in enumerate(ids)}
    right, count = np.zeros(len(ids)), np.zeros(len(ids))
    for one in samples:
        count[places[one["problem"]]] += 1
        right[places[one["problem"]]] += (one["problem"], program(one)) in passed
    chances = [pass_at_k(count, right, k) for k in (1, 5, 10) if k <= count.min()]
    estimates = bootstrap([Ratio(values, np.ones(len(ids)), (0.0, 1.0)) for values in chances])
    shown = [f"{100 * one.value:.1f} ({100 * one.low:.1f} to {100 * one.high:.1f})" for one in estimates]
    used = [pair for one in samples for pair in uses(one["text"])]
    searching = {one["problem"] for one in samples if find_lookups(one["text"])}
    shares = [len(searching) / len(ids), *(sum(pair[kind] for pair in used) / max(len(used), 1) for kind in (0, 1))]
    code = sum(bool(program(one)) for one in samples) / len(samples)
    cells = [set_, arm, len(ids), *shown, f"{code:.0%}", len(used), *(f"{share:.0%}" for share in shares)]
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("prepare", "score"):
        one = commands.add_parser(name)
        one.add_argument("folder", type=Path)
        one.add_argument("files", type=Path, nargs="+")
        one.add_argument("--python", default=sys.executable)
    one = commands.add_parser("sample")
    one.add_argument("folder", type=Path)
    one.add_argument("name")
    one.add_argument("model", type=Path)
    one.add_argument("server")
    one.add_argument("--search", action="store_true")
    one.add_argument("--samples", type=int, default=10)
    one.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.command == "prepare":
        anyio.run(prepare, given.folder, given.files, given.python)
    elif given.command == "score":
        score(given.folder, given.files, given.python)
    else:
        chosen = {"search": given.search, "samples": given.samples, "seed": given.seed}
        sample(given.folder, given.name, given.model, given.server, **chosen)


if __name__ == "__main__":
    main()
