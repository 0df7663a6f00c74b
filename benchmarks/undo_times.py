"""Measures how long a kernel takes back to a checkpoint, beside restart and run all, in the same run.

    python benchmarks/undo_times.py [--megabytes 500] [--repeat 10]

Prints milliseconds as JSON: the round trip of `1` before and after the first checkpoint, the first and a later
checkpoint, going back, and restart with the same cells run again (the arrays are made by numpy, which is fast: what
loads or computes longer favours going back more).
"""

import argparse
import json
import os
import time
from statistics import median

from jupyter_client.manager import KernelManager


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=10)
    given = parser.parse_args()
    cells = [
        "%load_ext exploracoder_jupyter",
        "import numpy as np",
        f"data = [np.random.default_rng(n).random(131072) for n in range({given.megabytes})]",
        "%explora status",  # imports the commands, which is not what is measured
    ]
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=120)

    def run(code: str) -> float:
        began = time.perf_counter()
        reply = client.execute_interactive(code, timeout=300, output_hook=lambda _: None)
        assert reply["content"]["status"] == "ok", reply["content"]
        return (time.perf_counter() - began) * 1000

    try:
        for cell in cells:
            run(cell)
        found = {"megabytes": given.megabytes, "load": round(os.getloadavg()[0], 1)}
        found["round_trip_before"] = median(run("1") for _ in range(100))
        found["first_checkpoint"] = run("%explora checkpoint a")
        found["round_trip_after"] = median(run("1") for _ in range(100))
        found["checkpoint"] = median(run(f"%explora checkpoint c{n % 3}") for n in range(given.repeat))
        backs = []
        for _ in range(given.repeat):
            run("data[0] = None")
            backs.append(run("%explora back a"))
        found["back"], found["back_slowest"] = median(backs), max(backs)
        restarts = []
        for _ in range(3):
            began = time.perf_counter()
            manager.restart_kernel(now=True)
            client.wait_for_ready(timeout=120)
            for cell in cells[:3]:
                run(cell)
            restarts.append((time.perf_counter() - began) * 1000)
        found["restart_and_run_all"] = median(restarts)
        print(json.dumps({name: round(value, 2) for name, value in found.items()}, indent=2))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


if __name__ == "__main__":
    main()
