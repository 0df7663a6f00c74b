"""The documents that are found in a package's folder."""

from importlib.machinery import ModuleSpec

from exploracoder_jupyter.kernel_agent.introspection.locations import shipped_documents


def _guides(folder):
    spec = ModuleSpec("clay", None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    return shipped_documents(None, spec)["guides"]


def test_guides_for_agents_come_before_other_guides(tmp_path):
    for path in (".agents/skills/kilns/SKILL.md", ".agents/skills/pots/SKILL.md", "docs/start.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f"Text of {path}.")
    (tmp_path / ".agents" / "notes.md").write_text("Not a guide.")
    (tmp_path / ".agents" / "skills" / "kilns" / "tool.md").write_text("Not a guide.")
    assert _guides(tmp_path) == [
        (path, f"Text of {path}.")
        for path in (".agents/skills/kilns/SKILL.md", ".agents/skills/pots/SKILL.md", "docs/start.md")
    ]


def test_a_package_without_guides_has_none(tmp_path):
    assert _guides(tmp_path) == []
