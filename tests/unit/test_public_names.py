"""The names that packages export: those that are imported late are there too."""

import importlib
import pkgutil

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
