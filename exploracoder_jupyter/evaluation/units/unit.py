"""A unit of work of an evaluation: one sample of one strategy on one problem, independent of all others."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.recorded_settings import recorded_layer
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.settings_sources import Layer, as_json, resolve
from exploracoder_jupyter.evaluation.problems.problem import Problem

_NOT_DETERMINING = {
    "endpoint": {"base_url", "timeout", "retries"},
    "retrieval": {"docs"},
    "sandbox": {"python", "engine_python", "gateway"},
    "exploration": {"strategy"},
}
"""Settings that say where something is, not what it is, and those that the digest contains in another form."""
_LEFT_OUT = ("view", "history")
_PROBLEM_LEFT_OUT = ("folder", "solution", "docs", "repository", "live", "check")


@dataclass(frozen=True)
class Unit:
    """One sample of one strategy on one problem."""

    problem: Problem
    strategy: str = "explore"
    """Registered name."""
    sample: int = 0
    """Number of the sample, from 0."""
    settings: Layer = field(default_factory=dict)
    """Settings that differ from the defaults. Configuration files and environment variables of the machine that runs
    the unit have no effect, except for the address and the key of the endpoint."""

    @cached_property
    def resolved(self) -> Settings:
        """All settings; UsageError if one is unknown or has an invalid value."""
        return resolve(
            {**self.settings, "exploration": {**self.settings.get("exploration", {}), "strategy": self.strategy}},
            path=Path(os.devnull),
            environ={},
        )

    @property
    def layer(self) -> Layer:
        """All settings as a layer for a run; only the endpoint's address is left out if it is not set."""
        layer = {section: dict(values) for section, values in recorded_layer(as_json(self.resolved)).items()}
        if self.resolved.endpoint.base_url is None:
            layer["endpoint"].pop("base_url")
        return layer

    @property
    def changed_settings(self) -> dict[str, JsonValue]:
        """The settings that differ from their defaults, as JSON: `{"exploration": {"candidates": 3}}`."""
        now, default = as_json(self.resolved), as_json(Settings())
        changed: dict[str, JsonValue] = {}
        for section, values in now.items():
            plain = default[section]
            if isinstance(values, dict) and isinstance(plain, dict) and values != plain:
                changed[section] = {name: value for name, value in values.items() if value != plain[name]}
        return changed

    @cached_property
    def digest(self) -> str:
        """Identifies the unit: 32 hexadecimal digits, computed from everything that determines its result.

        That is the problem with the content of its documentation, but neither its reference solution nor its folder;
        the strategy, the sample, the model and the settings, but not where files and the endpoint are.
        """
        determining: dict[str, JsonValue] = {}
        for section, values in self.changed_settings.items():
            if section not in _LEFT_OUT and isinstance(values, dict):
                where = _NOT_DETERMINING.get(section, set())
                if kept := {name: value for name, value in values.items() if name not in where}:
                    determining[section] = kept
        repository = self.problem.repository
        names = [one.name for one in fields(Problem) if one.name not in _PROBLEM_LEFT_OUT]
        content = {
            "problem": {
                **{name: getattr(self.problem, name) for name in names},
                **({"repository": asdict(repository)} if repository else {}),
                **({"live": list(self.problem.live)} if self.problem.live else {}),
                **({"check": self.problem.check} if self.problem.check else {}),
            },
            "docs": [_content_digest(path) for path in self.docs],
            "strategy": self.strategy,
            "sample": self.sample,
            "settings": determining,
        }
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return sha256(canonical.encode()).hexdigest()[:32]

    @property
    def docs(self) -> tuple[Path, ...]:
        """Files and folders with documentation: those of the problem, then those of the settings."""
        return tuple(self.problem.folder / path for path in (*self.problem.docs, *self.resolved.retrieval.docs))


def _content_digest(path: Path) -> str:
    """Return a digest of a file, or of the files in a folder with their relative paths; missing files have one too."""
    digest = sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            digest.update(file.relative_to(path).as_posix().encode() + b"\0")
            digest.update(sha256(file.read_bytes()).digest())
    return digest.hexdigest()
