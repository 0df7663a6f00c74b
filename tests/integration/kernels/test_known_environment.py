"""What is installed is read once in a process, and again when something has been installed."""

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.kernels import open_siblings


async def packages_seen(folder):
    async with open_siblings(Sandbox(), workdir=folder) as siblings:
        return siblings.environment().packages


async def test_an_installation_is_seen_by_the_next_siblings(tmp_path, monkeypatch):
    site, work = tmp_path / "site", tmp_path / "work"
    site.mkdir()
    work.mkdir()
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PYTHONPATH", str(site))
    before = await packages_seen(work)
    assert before and await packages_seen(work) == before
    (site / "tides-1.5.dist-info").mkdir()
    (site / "tides-1.5.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: tides\nVersion: 1.5\n")
    assert {*await packages_seen(work)} - {*before} == {"tides==1.5"}
