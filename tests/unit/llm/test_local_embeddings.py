import json
import re
import sys
from contextlib import AsyncExitStack
from types import ModuleType

import anyio
import numpy as np
import pytest

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.configuration.sources import Secrets, resolve
from exploracoder_jupyter.core.errors import EndpointError, MissingRequirement, UsageError
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.llm.embeddings import LocalEmbedder
from exploracoder_jupyter.runs.knowledge_factory import open_knowledge


class Panic(BaseException):
    """What compiled extensions raise when they give up."""


ODD = {
    "memory": RuntimeError("CUDA out of memory.\nTried to allocate"),
    "panic": Panic("index out of range"),
    "silent": ValueError(),
    "flat": np.ones(1),
    "ragged": [[1.0], [1.0, 2.0]],
    "many": np.ones((2, 3)),
    "empty": np.ones((1, 0)),
    "infinite": np.array([[np.inf]]),
    "words": [["a"]],
}
"""What the stand-in does with a text."""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    return tmp_path


@pytest.fixture
def model2vec(monkeypatch):
    """A stand-in for the library, whose vectors are the lengths of texts; it notes what it loads."""
    loaded = []

    class StaticModel:
        @classmethod
        def from_pretrained(cls, path):
            loaded.append(path)
            if path.endswith("broken"):
                raise ValueError("no tensors\nat all")
            return cls()

        def encode(self, texts, **options):
            odd = ODD.get(texts[0]) if texts else None
            if isinstance(odd, BaseException):
                raise odd
            if odd is not None:
                return odd
            return np.array([[len(text), 1.0] for text in texts], dtype=np.float64)

    module = ModuleType("model2vec")
    module.StaticModel = StaticModel
    module.__spec__ = type("Spec", (), {})()
    monkeypatch.setitem(sys.modules, "model2vec", module)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    return loaded


def test_texts_get_vectors_of_the_lazily_loaded_model(folder, model2vec):
    embedder = LocalEmbedder(folder)
    assert model2vec == []
    found = anyio.run(embedder.embed, ["abc", ""])
    assert found.tolist() == [[3, 1], [0, 1]] and found.dtype == np.float32
    assert anyio.run(embedder.embed, []).shape == (0, 0)
    assert model2vec == [str(folder)]


def test_the_name_is_that_of_the_content(folder, model2vec):
    before = LocalEmbedder(folder).name
    assert LocalEmbedder(folder).name == before
    (folder / "model.safetensors").write_bytes(b"Weights")
    assert LocalEmbedder(folder).name != before


def test_a_folder_without_model_is_refused(tmp_path, model2vec):
    with pytest.raises(UsageError, match="There is no folder"):
        LocalEmbedder(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="contains no embedding model"):
        LocalEmbedder(tmp_path)


def test_an_unloadable_model_is_one_line(folder, model2vec):
    broken = folder / "broken"
    broken.mkdir()
    (broken / "config.json").write_bytes((folder / "config.json").read_bytes())
    with pytest.raises(UsageError, match=r"no tensors\. Set embedding_folder"):
        anyio.run(LocalEmbedder(broken).embed, ["a"])


@pytest.mark.parametrize("text", ODD)
def test_a_failing_model_is_an_endpoint_error(folder, model2vec, text):
    with pytest.raises(EndpointError, match=r"The embedding model in .* failed: ") as caught:
        anyio.run(LocalEmbedder(folder).embed, [text])
    assert "\n" not in caught.value.message and caught.value.remedy.startswith("Set embedding_folder")


@pytest.mark.parametrize(("config", "package"), [({"normalize": True}, "model2vec"), ({}, "sentence-transformers")])
def test_a_missing_library_is_named_by_the_remedy(tmp_path, monkeypatch, config, package):
    (tmp_path / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingRequirement, match=f"pip install {package}"):
        LocalEmbedder(tmp_path)


def test_a_run_uses_vectors_of_the_configured_folder(tmp_path):
    settings = resolve({"retrieval": {"embedding_folder": "nowhere"}}, path=tmp_path / "none.toml", environ={})

    async def opened():
        async with AsyncExitStack() as stack:
            await open_knowledge(
                ["json"],
                settings,
                Secrets(),
                inspect=local_inspector(Sandbox()),
                advance=lambda *_: None,
                emit=lambda event: None,
                stack=stack,
                folder=tmp_path,
            )

    with pytest.raises(UsageError, match=re.escape(str(tmp_path / "nowhere"))):
        anyio.run(opened)
