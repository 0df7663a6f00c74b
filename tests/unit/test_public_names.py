"""The names that packages export: those that are imported late are there too."""

import importlib
import pkgutil

import pytest

import exploracoder_jupyter


def test_every_exported_name_exists():
    packages = [
        info.name
        for info in pkgutil.walk_packages(exploracoder_jupyter.__path__, "exploracoder_jupyter.")
        if info.ispkg
    ]
    for name in ["exploracoder_jupyter", *packages]:
        package = importlib.import_module(name)
        assert [one for one in getattr(package, "__all__", ()) if not hasattr(package, one)] == [], name


def test_a_lazy_import_shows_what_a_module_raised(tmp_path, monkeypatch):
    package = tmp_path / "explora_lazy"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from exploracoder_jupyter.core.lazy_imports import lazy_getattr\n"
        "__getattr__ = lazy_getattr(__name__, {'wanted': 'home'})\n"
    )
    (package / "home.py").write_text("import math\nwanted = math.no_such_function\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ImportError, match="no_such_function"):
        exec("from explora_lazy import wanted")
    with pytest.raises(ImportError, match="cannot import name 'other'"):
        exec("from explora_lazy import other")
