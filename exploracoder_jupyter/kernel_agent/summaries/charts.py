"""Chart specifications: Plotly, Altair, Bokeh. They are read as they are: not validated, and not converted to
JSON.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries import arrays
from exploracoder_jupyter.kernel_agent.summaries.facts import Fact, SummaryOptions, TypeFamily, format_list
from exploracoder_jupyter.kernel_agent.summaries.figures import caption_fact, legend_fact, quote, strip_quoted

_MAX_ITEMS = 10
_DATA_ATTRIBUTES = ("x", "y", "z", "lat", "lon", "values", "labels", "r", "theta", "locations", "open", "close")
_COMPOSITIONS = {"layer": "layers", "hconcat": "side by side", "vconcat": "one above the other", "concat": "charts"}


def _describe_plotly(figure: Any, options: SummaryOptions) -> Iterator[Fact]:
    traces, layout = figure.data, figure.layout
    yield caption_fact(f"traces: {len(traces)}{_title_suffix(layout.title)}")
    axes = {name: layout[name] for name in sorted(layout) if name.startswith(("xaxis", "yaxis"))}
    titles = {name: _text(axis.title) + (" (log)" if axis.type == "log" else "") for name, axis in axes.items()}
    yield from _axes_fact([(name.replace("axis", ""), titles[name]) for name in titles if _text(axes[name].title)])
    for trace in traces[:_MAX_ITEMS]:
        yield _trace_fact(trace, options)
    if len(traces) > _MAX_ITEMS:
        yield Fact(f"{len(traces) - _MAX_ITEMS:,} more traces")
    if figure.frames:
        yield Fact(f"{len(figure.frames):,} frames")


def _text(title: Any) -> str:
    return str(getattr(title, "text", title) or "")


def _title_suffix(title: Any) -> str:
    return f", {quote(_text(title), 80)}" if _text(title) else ""


def _axes_fact(titles: list[tuple[str, str]]) -> Iterator[Fact]:
    if titles:
        yield caption_fact(f"axes: {format_list([f'{name} {quote(title)}' for name, title in titles], _MAX_ITEMS)}")


def _trace_fact(trace: Any, options: SummaryOptions) -> Fact:
    mode, name = getattr(trace, "mode", None), trace.name
    data = {key: getattr(trace, key) for key in _DATA_ATTRIBUTES if getattr(trace, key, None) is not None}
    return _columns_fact(
        trace.type + (f" ({mode})" if mode else "") + (f" {quote(name)}" if name else ""), data, options
    )


def _columns_fact(header: str, data: Mapping[str, Any], options: SummaryOptions) -> Fact:
    lengths = ", ".join(f"{key} of {_format_length(values)}" for key, values in data.items())
    ranges = "; ".join(f"{key} {_describe_values(values, options)}" for key, values in data.items())
    line = f"  {header}: {lengths}" if data else f"  {header}"
    return Fact(f"{line}; {ranges}" if data else line, shows=True, schema=strip_quoted(line))


def _format_length(values: Any) -> str:
    if isinstance(values, dict):
        return str(values.get("shape") or values.get("dtype") or "encoded")
    return " x ".join(f"{side:,}" for side in getattr(values, "shape", (len(values),)))


def _describe_values(values: Any, options: SummaryOptions) -> str:
    """Describe the range of numbers or times, or the first of other values."""
    np = sys.modules.get("numpy")
    if isinstance(values, dict) or np is None:
        return "encoded"
    sample = arrays.thin(np.asarray(values), options.sample) if len(values) else np.asarray([])
    if sample.dtype.kind == "M":
        ends = np.datetime_as_string([sample.min(), sample.max()], unit="s").tolist()
        return " to ".join(str(end).removesuffix("T00:00:00") for end in ends)
    try:
        return arrays.describe_range(arrays.to_floats(sample))
    except (TypeError, ValueError):
        return format_list([options.short(value) for value in sample[:4].tolist()], 3)


def _describe_altair(chart: Any, options: SummaryOptions, depth: int = 0) -> Iterator[Fact]:
    indent, title = "  " * depth, _get_property(chart, "title")
    suffix = _title_suffix(title if isinstance(title, (str, list)) else _get_property(title, "text"))
    data, inner = _get_property(chart, "data"), _get_property(chart, "spec")
    for name, kind in _COMPOSITIONS.items():
        parts = _get_property(chart, name)
        if parts is not None:
            yield caption_fact(f"{indent}{len(parts)} {kind}{suffix}")
            yield from _data_fact(data, options, indent)
            for part in parts[:_MAX_ITEMS] if depth < 3 else []:
                yield from _describe_altair(part, options, depth + 1)
            return
    mark = _get_property(chart, "mark")
    mark_type = mark if isinstance(mark, str) else _get_property(mark, "type")
    kind = "repeated chart" if inner is not None else f"mark {mark_type}" if mark is not None else "no mark"
    yield caption_fact(f"{indent}{kind}{suffix}")
    channels = getattr(_get_property(chart, "encoding"), "_kwds", {})
    given = {name: channel for name, channel in channels.items() if not _is_undefined(channel)}
    if given:
        shown, fields = (
            f"{indent}encodes {format_list([f'{name}={form(channel)}' for name, channel in given.items()], _MAX_ITEMS)}"
            for form in (_format_channel, _format_field)
        )
        yield Fact(shown, shows=True, schema=fields)
    yield from _data_fact(data, options, indent)
    if _get_property(chart, "transform"):
        yield Fact(f"{indent}{len(_get_property(chart, 'transform'))} transforms")
    if inner is not None and depth < 3:
        yield from _describe_altair(inner, options, depth + 1)


def _get_property(schema: Any, name: str) -> Any:
    """Return a property that was set, or None."""
    value = getattr(schema, "_kwds", {}).get(name)
    return None if _is_undefined(value) else value


def _is_undefined(value: Any) -> bool:
    return value is None or type(value).__name__ == "UndefinedType"


def _format_channel(channel: Any) -> str:
    """Format the field of a channel, or the value that it has instead."""
    if not isinstance(channel, list) and _get_property(channel, "value") is not None:
        return str(_get_property(channel, "value"))
    return _format_field(channel)


def _format_field(channel: Any) -> str:
    """Format a field as it was written, such as `price:Q` or `mean(price)`; a value by its type."""
    if isinstance(channel, list):
        return format_list([_format_field(item) for item in channel], _MAX_ITEMS)
    for name in ("shorthand", "field"):
        if _get_property(channel, name) is not None:
            kind = _get_property(channel, "type") if name == "field" else None
            return str(_get_property(channel, name)) + (f":{kind}" if kind else "")
    return type(channel).__name__


def _data_fact(data: Any, options: SummaryOptions, indent: str) -> Iterator[Fact]:
    """Describe the chart's data: its columns, or its URL."""
    location = data if isinstance(data, str) else _get_property(data, "url")
    if location is not None:
        yield Fact(f"{indent}data at {options.short(location)}", shows=True, schema=f"{indent}data at a URL")
    elif data is not None:
        shape = getattr(data, "shape", None)
        columns = format_list([str(name) for name in getattr(data, "columns", ())], _MAX_ITEMS)
        sides = f" {shape[0]:,} x {shape[1]:,}" if isinstance(shape, tuple) and len(shape) == 2 else ""
        yield Fact(f"{indent}data {type(data).__name__}{sides}" + (f": {columns}" if columns else ""))


def _describe_bokeh(plot: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield caption_fact(f"renderers: {len(plot.renderers)}{_title_suffix(plot.title)}")
    sides = [(name, part) for name in ("below", "left", "above", "right") for part in getattr(plot, name)]
    labels = [(name, getattr(part, "axis_label", None)) for name, part in sides]
    yield from _axes_fact([(name, str(label)) for name, label in labels if label])
    for renderer in plot.renderers[:_MAX_ITEMS]:
        if hasattr(renderer, "glyph"):
            yield _columns_fact(type(renderer.glyph).__name__, renderer.data_source.data, options)
    entries = [item.label for legend in plot.legend for item in legend.items]
    if entries:
        names = [str(getattr(entry, "value", None) or getattr(entry, "field", None) or entry) for entry in entries]
        yield legend_fact("", names, _MAX_ITEMS)


def _describe_layout(layout: Any, options: SummaryOptions) -> Iterator[Fact]:
    parts = [part[0] if isinstance(part, tuple) else part for part in layout.children]
    yield Fact(f"parts: {len(parts)}")
    for part in parts[:_MAX_ITEMS]:
        yield caption_fact(f"  {type(part).__name__}{_title_suffix(getattr(part, 'title', None))}")


FAMILY = TypeFamily(
    {
        "plotly.BaseFigure": _describe_plotly,
        "altair.TopLevelMixin": _describe_altair,
        "bokeh.Plot": _describe_bokeh,
        **dict.fromkeys(("bokeh.FlexBox", "bokeh.GridBox", "bokeh.GridPlot"), _describe_layout),
    },
    measures={
        "plotly.BaseFigure": lambda figure: f"{len(figure.data)} traces",
        "bokeh.Plot": lambda plot: f"{len(plot.renderers)} renderers",
    },
)
