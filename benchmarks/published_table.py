"""The published comparison of the strategies, computed again from recorded replies, without a model.

    python benchmarks/published_table.py DATA OUT [--strategy STRATEGY,...]

DATA is a folder with `monkey_eval.jsonl`, `beatnum_eval.jsonl` and what `problems/invented_packages.py` reads. OUT
receives the problems, the packages, the results and the report. The interpreter needs the extra `bench`, pandas below 3
and numpy below 2.4. `data/replies` has the replies; only the commit that recorded them makes the same prompts.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
HARD = {
    "quernal": ("outstanding", "station-means", "ship-today", "daily-balance", "heavy-crates"),
    "skerries": ("close-port", "best-shortcut", "merged-charts", "separate-waters", "work-stages"),
    "drovel": ("customer-totals", "accept-records", "pack-boxes", "smoothed", "sku-quantities"),
    "osterly": ("undo-last", "merge-duplicates", "raise-prices", "move-entries", "live-briefs"),
}
MONKEY = [f"monkey-{number}" for number in (58, 27, 21, 34, 72, 22, 97, 17, 20, 46)]
BEATNUM = [f"beatnum-{number}" for number in (44, 53, 49, 71, 2, 56, 82, 33, 9, 45)]
"""Five problems of each hard library and ten of each public set, all with a reference that passes."""
STRATEGIES = "direct,rag,rag-repair,example-repair,adaptive,react,capir,exploracoder,exploracoder-debug"


def select(source: Path, target: Path, wanted: list[str]) -> None:
    """Write the wanted problems of a set, in the order of the set."""
    rows = [line for line in source.read_text(encoding="utf-8").splitlines() if json.loads(line)["id"] in wanted]
    if len(rows) != len(wanted):
        sys.exit(f"{source} lacks problems that the table has")
    target.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


def prepare(data: Path, out: Path) -> list[Path]:
    """Write problems and packages; return the files of the problems."""
    problems = out / "problems"
    problems.mkdir(parents=True, exist_ok=True)
    if not (problems / "hard").exists():
        (problems / "hard").symlink_to(HERE / "problems" / "hard")
    script = HERE / "problems" / "invented_packages.py"
    subprocess.run([sys.executable, script, data, out / "packages"], check=True)
    hard = [f"{library}/{name}" for library, names in HARD.items() for name in names]
    files = [problems / f"{name}.jsonl" for name in ("hard", "monkey_eval", "beatnum_eval")]
    sources = [HERE / "problems" / "hard.jsonl", data / files[1].name, data / files[2].name]
    for source, file, wanted in zip(sources, files, (hard, MONKEY, BEATNUM), strict=True):
        select(source, file, wanted)
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--strategy", default=STRATEGIES)
    given = parser.parse_args()
    files = prepare(given.data.resolve(), given.out.resolve())
    command = [sys.executable, "-m", "exploracoder_jupyter.cli", "bench", *files, "--strategy", given.strategy]
    options = ["--candidates", "3", "--no-snippets", "--replay", HERE / "data" / "replies", "--markdown"]
    limits = ["--budget-seconds", "14000", "--budget-tokens", "2000000", "--out", given.out.resolve() / "results"]
    packages = str(given.out.resolve() / "packages")
    sys.exit(subprocess.run([*command, *options, *limits], env={**os.environ, "PYTHONPATH": packages}).returncode)


if __name__ == "__main__":
    main()
