"""scikit-learn estimators, pipelines and searches; XGBoost and LightGBM subclass its estimators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.facts import Fact, SummaryOptions, TypeFamily, format_list, truncate
from exploracoder_jupyter.kernel_agent.summaries.value_text import describe_structure

_MAX_ATTRIBUTES = 12
_MAX_LENGTH = 400


def _describe_estimator(estimator: Any, options: SummaryOptions) -> Iterator[Fact]:
    learned = _learned_attributes(estimator)
    count, names = learned.pop("n_features_in_", None), learned.pop("feature_names_in_", None)
    state = "fitted" if _is_fitted(estimator) else "not fitted"
    yield Fact(state + (f" on {count:,} features" if isinstance(count, int) else ""))
    parameters = [f"{name}: {describe_structure(value)}" for name, value in estimator.get_params(deep=False).items()]
    # The `repr` of scikit-learn shows the parts, and the parameters that differ from their defaults.
    text = truncate(repr(estimator), _MAX_LENGTH)
    yield Fact(text, shows=True, schema=f"parameters: {format_list(parameters, _MAX_ATTRIBUTES)}")
    if names is not None:
        yield Fact(f"features: {format_list([str(name) for name in names], 8)}")
    for name, value in list(learned.items())[:_MAX_ATTRIBUTES]:
        kind, shown = _type_text(value), _format_value(value, options)
        yield Fact(f"  {name}: {shown or kind}", shows=bool(shown), schema=f"  {name}: {kind}")
    if len(learned) > _MAX_ATTRIBUTES:
        yield Fact(f"  {format_list(list(learned)[_MAX_ATTRIBUTES:], _MAX_ATTRIBUTES)}")


def _is_fitted(estimator: Any) -> bool:
    """Return whether the estimator is fitted. A pipeline has no state of its own: it is fitted if its last step is."""
    steps = vars(estimator).get("steps")
    if isinstance(steps, list) and steps:
        return hasattr(steps[-1][1], "__dict__") and _is_fitted(steps[-1][1])
    return bool(_learned_attributes(estimator))


def _learned_attributes(estimator: Any) -> dict[str, Any]:
    """Return the attributes set by fitting: those whose names end in one underscore."""
    return {name: value for name, value in vars(estimator).items() if name.endswith("_") and not name.startswith("_")}


def _type_text(value: Any) -> str:
    """Return the type and shape: `ndarray 3 x 4 float64`, `list of 3 int`."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and shape:
        return f"{type(value).__name__} {' x '.join(map(str, shape))} {dtype or ''}".strip()
    return describe_structure(value)


def _format_value(value: Any, options: SummaryOptions) -> str:
    """Return the value itself if it is small, else an empty string."""
    if isinstance(value, float):
        return f"{value:.4g}"
    is_small_array = getattr(value, "ndim", None) == 1 and value.size <= 6 and value.dtype.kind in "biufUO"
    if is_small_array:
        return f"{_type_text(value)} [{', '.join(_format_value(item, options) for item in value.tolist())}]"
    return options.short(value) if isinstance(value, (bool, int, str, dict)) else ""


def _measure(estimator: Any) -> str:
    learned = len(_learned_attributes(estimator))
    return f"fitted, {learned} attributes" if learned else "fitted" if _is_fitted(estimator) else "not fitted"


FAMILY = TypeFamily({"sklearn.BaseEstimator": _describe_estimator}, measures={"sklearn.BaseEstimator": _measure})
