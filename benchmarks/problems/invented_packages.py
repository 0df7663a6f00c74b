"""Builds the packages `monkey` and `beatnum`: pandas and numpy under invented names, for MonkeyEval and BeatNumEval.

    python benchmarks/problems/invented_packages.py DATA FOLDER

DATA is a folder with `monkey_beatnum_keywords.json` and, for the documentation, `monkey_docs.jsonl` and
`beatnum_docs.jsonl`. The packages are written to FOLDER; set PYTHONPATH to it where the problems are run.

A package gives every attribute of the library whose name is in the table of keywords a second name. `monkey` adds them
to the classes of pandas, and removes the documentation of the old names, so that only the new ones are documented.
`beatnum` returns arrays of a class with the new names. The old names still exist. The problem sets have renamed
Python's own functions too (`length` for `len`): the packages add them to `builtins`.
"""

import argparse
import json
from pathlib import Path

COMMON = '''
import builtins
import types

KEYWORDS = {keywords!r}
"""Invented names by original ones."""
ORIGINALS = {{new: old for old, new in KEYWORDS.items()}}
DOCUMENTATION = {documentation!r}
"""Documentation by invented name."""

for _old, _new in KEYWORDS.items():
    if callable(getattr(builtins, _old, None)) and not hasattr(builtins, _new):
        setattr(builtins, _new, getattr(builtins, _old))


def _named(call, new, module):
    """Return a function that calls the original one, with the invented name and its documentation."""

    def function(*args, **kwargs):
        return call(*args, **{{ORIGINALS.get(name, name): value for name, value in kwargs.items()}})

    function.__name__ = function.__qualname__ = new
    function.__module__ = module
    function.__doc__ = DOCUMENTATION.get(new)
    try:
        function.__signature__ = __import__("inspect").signature(call)
    except (TypeError, ValueError):
        pass
    return function
'''

MONKEY = """
import pandas as _pandas
import pandas.core.groupby
import pandas.core.resample
import pandas.core.strings.accessor
import pandas.core.window


def _classes(module):
    return [value for value in vars(module).values() if isinstance(value, type)]


def _rename_members(owner):
    for old, new in KEYWORDS.items():
        value = vars(owner).get(old)
        if value is None or hasattr(owner, new):
            continue
        setattr(owner, new, _named(value, new, __name__) if isinstance(value, types.FunctionType) else value)
        if isinstance(value, types.FunctionType):
            value.__doc__ = None


_modules = [_pandas, pandas.core.groupby, pandas.core.groupby.groupby, pandas.core.groupby.generic,
            pandas.core.strings.accessor, pandas.core.window, pandas.core.window.rolling, pandas.core.generic,
            pandas.core.base, pandas.core.arrays, pandas.core.arrays.categorical, pandas.core.indexes.base]
_all = dict.fromkeys(base for module in _modules for owner in _classes(module)
                     if owner.__module__.startswith("pandas") for base in owner.__mro__
                     if base.__module__.startswith("pandas"))
for _owner in _all:
    try:
        _rename_members(_owner)
    except TypeError:  # written in C
        pass

__all__ = []
for _name in _pandas.__dict__:
    if _name.startswith("_") or isinstance(getattr(_pandas, _name), types.ModuleType):
        continue
    _value, _new = getattr(_pandas, _name), KEYWORDS.get(_name, _name)
    if isinstance(_value, types.FunctionType):
        globals()[_new] = _named(_value, _new, __name__)
    else:
        globals()[_new] = _value
    __all__.append(_new)
for _old, _new in (("DataFrame", "KnowledgeFrame"), ("Series", "Collections")):
    _class = globals()[_new]
    _class.__module__, _class.__doc__ = __name__, DOCUMENTATION.get(_new)
    _class.__name__ = _class.__qualname__ = _new
"""

BEATNUM = '''
import numpy as _original


class ndnumset(_original.ndarray):
    """An array."""


def _convert(value):
    """Return arrays as `ndnumset`."""
    if type(value) is _original.ndarray:
        return value.view(ndnumset)
    if type(value) in (tuple, list):
        return type(value)(map(_convert, value))
    return value


def _converting(call):
    def converted(*args, **kwargs):
        return _convert(call(*args, **kwargs))

    try:
        converted.__signature__ = __import__("inspect").signature(call)
    except (TypeError, ValueError):
        pass
    return converted


for _old, _new in KEYWORDS.items():
    _member = getattr(_original.ndarray, _old, None)
    if callable(_member):
        setattr(ndnumset, _new, _named(_converting(_member), _new, __name__))
    elif _member is not None:
        setattr(ndnumset, _new, property(_member.__get__, _member.__set__, doc=DOCUMENTATION.get(_new)))


class _Namespace(types.ModuleType):
    """A module of numpy whose results are `ndnumset`, under the original or the invented names."""

    def __init__(self, module, keywords):
        super().__init__(module.__name__.replace("numpy", __name__), None)
        self._module = module
        for name in sorted({*dir(module), "core"}):  # numpy does not list it; of two that are renamed alike, the last
            if name.startswith("_") or not hasattr(module, name):
                continue
            value, new = getattr(module, name), keywords.get(name, name)
            if isinstance(value, types.ModuleType):
                if name in ("ma", "linalg", "random", "core", "records", "defchararray", "char", "rec"):
                    setattr(self, new, _Namespace(value, keywords))
            elif value is _original.ndarray:
                setattr(self, new, ndnumset)
            elif isinstance(value, _original.ufunc) and new == name:
                setattr(self, new, value)
            elif callable(value) and not isinstance(value, type):
                setattr(self, new, _named(_converting(value), new, __name__))
            else:
                setattr(self, new, value)


_renamed = _Namespace(_original, KEYWORDS)
_numpy = _Namespace(_original, {})
globals().update({name: value for name, value in vars(_renamed).items() if not name.startswith("_")})
__all__ = sorted(name for name in vars(_renamed) if not name.startswith("_"))
try:
    import pandas as _pandas
except ImportError:
    pass
else:
    for _owner in (_pandas.DataFrame, _pandas.Series, _pandas.Index):
        _owner.to_beatnum = lambda self, *args, **kwargs: _convert(self.to_numpy(*args, **kwargs))
'''


def build(data: Path, folder: Path) -> None:
    """Write both packages.

    Raises:
        OSError: a file of the data is missing, or the folder cannot be written.
    """
    tables = json.loads((data / "monkey_beatnum_keywords.json").read_text())
    for name, table, code in (("monkey", "pandas_keywords", MONKEY), ("beatnum", "numpy_keywords", BEATNUM)):
        documentation = _documentation(data / f"{name}_docs.jsonl")
        package = folder / name
        package.mkdir(parents=True, exist_ok=True)
        content = COMMON.format(keywords=tables[table], documentation=documentation) + code
        title = "Tables" if name == "monkey" else "Arrays"
        (package / "__init__.py").write_text(f'"""{title}."""\n{content}')


def _documentation(path: Path) -> dict[str, str]:
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return {row["path"].rpartition(".")[2]: f"{row['description']}\n\n    {row['signature']}" for row in rows}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    build(options.data, options.folder)
