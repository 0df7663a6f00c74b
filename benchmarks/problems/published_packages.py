"""Brings the repositories of `published.jsonl`: the source distributions of six packages, with their tests.

    python benchmarks/problems/published_packages.py [FOLDER]

pip downloads each from the package index by its version and hash; they are unpacked to FOLDER, by default `published`
beside this file, where the problems look for them. None of their code is part of this project. The tests need the
packages in `REQUIREMENTS`, with pytest and ipykernel, in the environment of `--python`.
"""

import argparse
import subprocess
import tarfile
import tempfile
from pathlib import Path

PACKAGES = {
    "click==8.1.8": "ed53c9d8990d83c2a27deae68e4ee337473f6330c040a31d4225c9574d16096a",
    "jinja2==3.1.6": "0137fb05990d35f1275a587e9aee6d56da821fc83491a0fb838183be43f66d6d",
    "itsdangerous==2.2.0": "e0050c0b7da1eea53ffaf149c0cfbb5c6e2e2b69c4bef22c81fa6eb73e5f6173",
    "marshmallow==3.26.1": "e6d8affb6cb61d39d26402096dc0aee12d5a26d490a121f118d2e81dc0719dc6",
    "httpcore==1.0.9": "6e34463af53fd2ab5d807f399a9b45ea31c3dfa2276f15a2c3f00afff6e176e8",
    "tomlkit==0.13.2": "fff5fe59a87295b278abd31bec92c15d9bc4a06885ab12bcea52c71119392e79",
}
"""Hashes (SHA-256) of the source distributions by their requirement."""
REQUIREMENTS = "markupsafe freezegun packaging simplejson pytz h11 h2 hpack certifi anyio trio pytest-httpbin pyyaml"


def bring(folder: Path) -> None:
    """Download the packages and unpack them to a folder."""
    with tempfile.TemporaryDirectory() as temporary:
        listed = Path(temporary) / "requirements.txt"
        listed.write_text("".join(f"{name} --hash=sha256:{digest}\n" for name, digest in PACKAGES.items()))
        options = ["--no-deps", "--no-binary", ":all:", "--require-hashes", "--dest", temporary]
        subprocess.run(["pip", "download", *options, "-r", str(listed)], check=True)
        for archive in sorted(Path(temporary).glob("*.tar.gz")):
            with tarfile.open(archive) as opened:
                opened.extractall(folder, filter="data")
    (folder / "tomlkit-0.13.2" / "pytest.ini").touch()  # it has none, and that of a folder above is not meant for it


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).with_name("published"))
    bring(parser.parse_args().folder)
