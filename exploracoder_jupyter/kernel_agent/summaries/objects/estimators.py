"""scikit-learn estimators, pipelines, searches and bunches; XGBoost and LightGBM subclass its estimators."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays.number_ranges import format_number
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, TypeFamily, format_list
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

_MAX_PARAMETERS = 12
_MAX_STEPS = 10
_MAX_NAMES = 8
_HIDDEN_ATTRIBUTES = (
    "n_features_in_",
    "feature_names_in_",
    "best_params_",
    "best_score_",
    "best_index_",
    "cv_results_",
)
_PART_ATTRIBUTES = ("steps", "transformer_list", "transformers", "estimators")


def _describe_estimator(estimator: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(_state(estimator))
    parameters = [parameter for parameter in _parameters(estimator) if parameter[0] not in _PART_ATTRIBUTES]
    yield from _steps(estimator)
    yield from _search_facts(estimator, options)
    yield from _changed_parameters(parameters, options)
    names = getattr(estimator, "feature_names_in_", None) if _feature_count(estimator) else None
    if names is not None:
        yield Fact(f"features: {format_list([str(name) for name in names], _MAX_NAMES)}")
    yield from _fitted_attributes(estimator, options)
    rest = [name for name, _, is_changed in parameters if not is_changed]
    if rest:
        yield Fact(f"by default: {format_list(rest, _MAX_PARAMETERS)}")


def _state(estimator: Any) -> str:
    if not _is_fitted(estimator):
        return "not fitted"
    features = _feature_count(estimator)
    return "fitted" + (f" on {features:,} features" if isinstance(features, int) else "")


def _feature_count(estimator: Any) -> Any:
    steps = _named_parts(estimator)
    count = vars(estimator).get("n_features_in_")
    return (
        count
        if count is not None or not steps
        else vars(steps[0][1]).get("n_features_in_")
        if _has_attributes(steps)
        else None
    )


def _has_attributes(steps: list[tuple[str, Any]]) -> bool:
    return hasattr(steps[0][1], "__dict__")


def _is_fitted(estimator: Any) -> bool:
    """Return whether the estimator is fitted. A pipeline has no state of its own: it is fitted if its last step is."""
    steps = vars(estimator).get("steps")
    if isinstance(steps, list) and steps:
        last = [step for _, step in steps if hasattr(step, "__dict__")][-1:]
        return bool(last) and _is_fitted(last[0])
    return bool(_learned_attributes(estimator))


def _learned_attributes(estimator: Any) -> dict[str, Any]:
    """Return the attributes set by fitting: those whose names end in one underscore."""
    return {name: value for name, value in vars(estimator).items() if name.endswith("_") and not name.startswith("_")}


def _named_parts(estimator: Any) -> list[tuple[str, Any]]:
    """Return the steps of a pipeline, or the parts of a union, an ensemble or a column transformer, by name."""
    for name in _PART_ATTRIBUTES:
        parts = vars(estimator).get(name)
        if isinstance(parts, list) and all(isinstance(part, tuple) and len(part) >= 2 for part in parts):
            return [part[:2] for part in parts]
    return []


def _steps(estimator: Any) -> Iterator[Fact]:
    columns = {part[0]: part[2] for part in vars(estimator).get("transformers") or () if len(part) == 3}
    for name, part in _named_parts(estimator)[:_MAX_STEPS]:
        line = f"  {name}: {part if isinstance(part, str) else type(part).__name__}"
        yield Fact(
            line
            + (f" on {_format_columns(columns[name])}" if name in columns else "")
            + f"{_format_changed_names(part)}"
        )
    if len(_named_parts(estimator)) > _MAX_STEPS:
        yield Fact(f"  {len(_named_parts(estimator)) - _MAX_STEPS} more steps")


def _format_columns(columns: Any) -> str:
    if isinstance(columns, (list, tuple)):
        return format_list([str(name) for name in columns], _MAX_NAMES)
    return columns if isinstance(columns, str) else type(columns).__name__


def _format_changed_names(part: Any) -> str:
    changed = [name for name, _, is_changed in _parameters(part) if is_changed] if hasattr(part, "get_params") else []
    return f" ({format_list(changed, 4)} set)" if changed else ""


def _search_facts(search: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe what a search tries, and what it has found."""
    attributes = vars(search)
    cv_results = attributes.get("cv_results_")
    base_estimator = attributes.get("estimator")
    if base_estimator is not None:
        yield Fact(f"of {type(base_estimator).__name__}")
    if isinstance(cv_results, dict) and "params" in cv_results:
        yield Fact(f"{len(cv_results['params']):,} candidates tried")
    if "best_params_" in attributes:
        score = attributes.get("best_score_")
        best = ", ".join(f"{name}={options.short(value)}" for name, value in attributes["best_params_"].items())
        names = ", ".join(attributes["best_params_"])
        more = f", score {score:.4g}" if isinstance(score, float) else ""
        yield Fact(f"best: {best}{more}", shows=True, schema=f"searched: {names}")


def _parameters(estimator: Any) -> list[tuple[str, Any, bool]]:
    """Return the parameters, and whether each differs from its default; those that do come first."""
    signature = inspect.signature(type(estimator).__init__).parameters
    parameters = []
    for name, value in estimator.get_params(deep=False).items():
        default = signature[name].default if name in signature else None
        parameters.append((name, value, not _is_default(value, default)))
    return sorted(parameters, key=lambda one: not one[2])


def _is_default(value: Any, default: Any) -> bool:
    """Compare values of simple types by equality; others by identity, because their `==` may do anything."""
    simple_types = (bool, int, float, str, bytes, type(None), tuple)
    if isinstance(value, float) and value != value:
        return isinstance(default, float) and default != default
    return value is default or (type(value) in simple_types and type(value) is type(default) and bool(value == default))


def _changed_parameters(parameters: list[tuple[str, Any, bool]], options: SummaryOptions) -> Iterator[Fact]:
    changed = [(name, value) for name, value, is_changed in parameters if is_changed]
    if changed:
        settings = [f"{name}={options.short(value)}" for name, value in changed]
        names = [name for name, _ in changed]
        yield Fact(
            f"set: {format_list(settings, _MAX_PARAMETERS)}",
            shows=True,
            schema=f"set: {format_list(names, _MAX_PARAMETERS)}",
        )


def _fitted_attributes(estimator: Any, options: SummaryOptions) -> Iterator[Fact]:
    learned = [
        (name, value) for name, value in _learned_attributes(estimator).items() if name not in _HIDDEN_ATTRIBUTES
    ]
    for name, value in learned[:_MAX_PARAMETERS]:
        kind = _type_text(value)
        yield Fact(
            f"  {name}: {_format_value(value, options) or kind}",
            shows=bool(_format_value(value, options)),
            schema=f"  {name}: {kind}",
        )
    if len(learned) > _MAX_PARAMETERS:
        yield Fact(f"  {format_list([name for name, _ in learned[_MAX_PARAMETERS:]], _MAX_PARAMETERS)}")
    computed = [name for name in _computed_attributes(estimator) if name not in vars(estimator)] if learned else []
    if computed:
        yield Fact(f"  computed when asked: {format_list(computed, _MAX_PARAMETERS)}")


def _computed_attributes(estimator: Any) -> list[str]:
    names = {
        name for cls in type(estimator).__mro__ for name, member in vars(cls).items() if isinstance(member, property)
    }
    return sorted(name for name in names if name.endswith("_") and not name.startswith("_"))


def _type_text(value: Any) -> str:
    """Return the type and shape: `ndarray 3 x 4 float64`, `list of 3`."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and shape:
        return f"{type(value).__name__} {' x '.join(map(str, shape))} {dtype or ''}".strip()
    sized = isinstance(value, (list, tuple, dict, set, frozenset))
    return type(value).__name__ + (f" of {len(value):,}" if sized else "")


def _format_value(value: Any, options: SummaryOptions) -> str:
    """Return the value itself if it is small, else an empty string."""
    if isinstance(value, float):
        return format_number(value)
    if isinstance(value, (bool, int, str)) or (getattr(value, "ndim", None) == 0 and hasattr(value, "item")):
        return options.short(value)
    is_short = getattr(value, "ndim", None) == 1 and value.size <= 6 and value.dtype.kind in "biufUO"
    return (
        f"{_type_text(value)} [{', '.join(_format_value(item, options) for item in value.tolist())}]"
        if is_short
        else ""
    )


def _describe_bunch(bunch: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{len(bunch):,} entries")
    for name, value in [*dict.items(bunch)][:_MAX_PARAMETERS]:
        kind = _type_text(value)
        yield Fact(f"  {name}: {kind}, {options.short(value)}", shows=True, schema=f"  {name}: {kind}")


def _measure(estimator: Any) -> str:
    learned = len(_learned_attributes(estimator))
    return f"fitted, {learned} attributes" if learned else "fitted" if _is_fitted(estimator) else "not fitted"


FAMILY = TypeFamily(
    {"sklearn.BaseEstimator": _describe_estimator, "sklearn.Bunch": _describe_bunch},
    measures={"sklearn.BaseEstimator": _measure},
)
