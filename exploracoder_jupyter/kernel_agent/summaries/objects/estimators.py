"""scikit-learn: estimators, pipelines, searches, bunches. Those of XGBoost and LightGBM are based on its classes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays.number_ranges import number
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, Family, Look, listed

_MOST = 12
_STEPS = 10
_NAMES = 8
_HIDDEN = ("n_features_in_", "feature_names_in_", "best_params_", "best_score_", "best_index_", "cv_results_")
_PARTS = ("steps", "transformer_list", "transformers", "estimators")


def _estimator(estimator: Any, look: Look) -> Iterator[Fact]:
    yield Fact(_state(estimator))
    given = [one for one in _given(estimator) if one[0] not in _PARTS]
    yield from _steps(estimator)
    yield from _best(estimator, look)
    yield from _set(given, look)
    names = getattr(estimator, "feature_names_in_", None) if _features(estimator) else None
    if names is not None:
        yield Fact(f"features: {listed([str(name) for name in names], _NAMES)}")
    yield from _fitted(estimator, look)
    rest = [name for name, _, own in given if not own]
    if rest:
        yield Fact(f"by default: {listed(rest, _MOST)}")


def _state(estimator: Any) -> str:
    if not _is_fitted(estimator):
        return "not fitted"
    features = _features(estimator)
    return "fitted" + (f" on {features:,} features" if isinstance(features, int) else "")


def _features(estimator: Any) -> Any:
    steps = _parts(estimator)
    held = vars(estimator).get("n_features_in_")
    return held if held is not None or not steps else vars(steps[0][1]).get("n_features_in_") if _plain(steps) else None


def _plain(steps: list[tuple[str, Any]]) -> bool:
    return hasattr(steps[0][1], "__dict__")


def _is_fitted(estimator: Any) -> bool:
    """A pipeline keeps nothing itself: it is fitted if its last step is."""
    steps = vars(estimator).get("steps")
    if isinstance(steps, list) and steps:
        last = [step for _, step in steps if hasattr(step, "__dict__")][-1:]
        return bool(last) and _is_fitted(last[0])
    return bool(_learned(estimator))


def _learned(estimator: Any) -> dict[str, Any]:
    """What fitting left: attributes whose names end in one underscore."""
    return {name: value for name, value in vars(estimator).items() if name.endswith("_") and not name.startswith("_")}


def _parts(estimator: Any) -> list[tuple[str, Any]]:
    """Steps of a pipeline, parts of a union, an ensemble or a column transformer, by name."""
    for name in _PARTS:
        parts = vars(estimator).get(name)
        if isinstance(parts, list) and all(isinstance(part, tuple) and len(part) >= 2 for part in parts):
            return [part[:2] for part in parts]
    return []


def _steps(estimator: Any) -> Iterator[Fact]:
    columns = {part[0]: part[2] for part in vars(estimator).get("transformers") or () if len(part) == 3}
    for name, part in _parts(estimator)[:_STEPS]:
        told = f"  {name}: {part if isinstance(part, str) else type(part).__name__}"
        yield Fact(told + (f" on {_columns(columns[name])}" if name in columns else "") + f"{_tuned(part)}")
    if len(_parts(estimator)) > _STEPS:
        yield Fact(f"  {len(_parts(estimator)) - _STEPS} more steps")


def _columns(columns: Any) -> str:
    if isinstance(columns, (list, tuple)):
        return listed([str(name) for name in columns], _NAMES)
    return columns if isinstance(columns, str) else type(columns).__name__


def _tuned(part: Any) -> str:
    changed = [name for name, _, own in _given(part) if own] if hasattr(part, "get_params") else []
    return f" ({listed(changed, 4)} set)" if changed else ""


def _best(search: Any, look: Look) -> Iterator[Fact]:
    """What a search tries, and has found."""
    learned = vars(search)
    tried = learned.get("cv_results_")
    inner = learned.get("estimator")
    if inner is not None:
        yield Fact(f"of {type(inner).__name__}")
    if isinstance(tried, dict) and "params" in tried:
        yield Fact(f"{len(tried['params']):,} candidates tried")
    if "best_params_" in learned:
        score = learned.get("best_score_")
        best = ", ".join(f"{name}={look.short(value)}" for name, value in learned["best_params_"].items())
        names = ", ".join(learned["best_params_"])
        more = f", score {score:.4g}" if isinstance(score, float) else ""
        yield Fact(f"best: {best}{more}", shows=True, schema=f"searched: {names}")


def _given(estimator: Any) -> list[tuple[str, Any, bool]]:
    """Parameters, and whether they differ from their defaults: those that do come first."""
    signature = inspect.signature(type(estimator).__init__).parameters
    found = []
    for name, value in estimator.get_params(deep=False).items():
        default = signature[name].default if name in signature else None
        found.append((name, value, not _same(value, default)))
    return sorted(found, key=lambda one: not one[2])


def _same(value: Any, default: Any) -> bool:
    """Equal, for plain values; a value of any other type is compared by identity: its `==` may be anything."""
    plain = (bool, int, float, str, bytes, type(None), tuple)
    if isinstance(value, float) and value != value:
        return isinstance(default, float) and default != default
    return value is default or (type(value) in plain and type(value) is type(default) and bool(value == default))


def _set(given: list[tuple[str, Any, bool]], look: Look) -> Iterator[Fact]:
    changed = [(name, value) for name, value, own in given if own]
    if changed:
        told = [f"{name}={look.short(value)}" for name, value in changed]
        names = [name for name, _ in changed]
        yield Fact(f"set: {listed(told, _MOST)}", shows=True, schema=f"set: {listed(names, _MOST)}")


def _fitted(estimator: Any, look: Look) -> Iterator[Fact]:
    learned = [(name, value) for name, value in _learned(estimator).items() if name not in _HIDDEN]
    for name, value in learned[:_MOST]:
        kind = _kind(value)
        yield Fact(
            f"  {name}: {_value(value, look) or kind}", shows=bool(_value(value, look)), schema=f"  {name}: {kind}"
        )
    if len(learned) > _MOST:
        yield Fact(f"  {listed([name for name, _ in learned[_MOST:]], _MOST)}")
    computed = [name for name in _computed(estimator) if name not in vars(estimator)] if learned else []
    if computed:
        yield Fact(f"  computed when asked: {listed(computed, _MOST)}")


def _computed(estimator: Any) -> list[str]:
    found = {n for cls in type(estimator).__mro__ for n, made in vars(cls).items() if isinstance(made, property)}
    return sorted(name for name in found if name.endswith("_") and not name.startswith("_"))


def _kind(value: Any) -> str:
    """Type and shape: `ndarray 3 x 4 float64`, `list of 3`."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and shape:
        return f"{type(value).__name__} {' x '.join(map(str, shape))} {dtype or ''}".strip()
    sized = isinstance(value, (list, tuple, dict, set, frozenset))
    return type(value).__name__ + (f" of {len(value):,}" if sized else "")


def _value(value: Any, look: Look) -> str:
    """The value itself, if it is small."""
    if isinstance(value, float):
        return number(value)
    if isinstance(value, (bool, int, str)) or (getattr(value, "ndim", None) == 0 and hasattr(value, "item")):
        return look.short(value)
    few = getattr(value, "ndim", None) == 1 and value.size <= 6 and value.dtype.kind in "biufUO"
    return f"{_kind(value)} [{', '.join(_value(one, look) for one in value.tolist())}]" if few else ""


def _bunch(bunch: Any, look: Look) -> Iterator[Fact]:
    yield Fact(f"{len(bunch):,} entries")
    for name, value in [*dict.items(bunch)][:_MOST]:
        kind = _kind(value)
        yield Fact(f"  {name}: {kind}, {look.short(value)}", shows=True, schema=f"  {name}: {kind}")


def _measure(estimator: Any) -> str:
    learned = len(_learned(estimator))
    return f"fitted, {learned} attributes" if learned else "fitted" if _is_fitted(estimator) else "not fitted"


FAMILY = Family(
    {"sklearn.BaseEstimator": _estimator, "sklearn.Bunch": _bunch},
    measures={"sklearn.BaseEstimator": _measure},
)
