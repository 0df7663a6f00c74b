"""Build the JupyterLab extension into the package, and stamp it with a hash of what it was built from.

Needs Node 20 and JupyterLab (`jlpm` beside this Python). A test compares the stamp with the sources, without Node.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "labextension"
BUNDLE = ROOT / "exploracoder_jupyter" / "labextension"
STAMP = BUNDLE / "sources.blake2b"
_BUILT_FROM = ("package.json", "yarn.lock", ".yarnrc.yml", "tsconfig.json", "src/**/*", "schema/**/*", "style/**/*")


def digest() -> str:
    """Of everything that the bundle is made from; line ends do not count."""
    found = {path for pattern in _BUILT_FROM for path in SOURCES.glob(pattern) if path.is_file()}
    total = hashlib.blake2b(digest_size=16)
    for path in sorted(found, key=lambda path: path.relative_to(SOURCES).parts):
        if "__tests__" not in path.parts:
            text = path.read_bytes().replace(b"\r\n", b"\n")
            total.update(f"{path.relative_to(SOURCES).as_posix()}\0{len(text)}\0".encode() + text)
    return total.hexdigest()


def build() -> None:
    """The bundle, from sources that match the messages in `page.py`."""
    _jlpm("install", "--immutable")
    subprocess.run([sys.executable, ROOT / "scripts" / "page_types.py"], check=True)
    _jlpm("types")
    _jlpm("build")
    STAMP.write_text(digest() + "\n", encoding="utf-8")


def _jlpm(*arguments: str) -> None:
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run(["jlpm", *arguments], cwd=SOURCES, env={**os.environ, "PATH": beside}, check=True)


if __name__ == "__main__":
    build()
