"""Chart specifications: Plotly, Altair, Bokeh. They are read as they are: not validated, and not converted to JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays import number_ranges
from exploracoder_jupyter.kernel_agent.summaries.charts.captions import caption_fact, legend_fact, quote, strip_quoted
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, TypeFamily, format_list
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

_MAX_ITEMS = 10
_DATA_ATTRIBUTES = ("x", "y", "z", "lat", "lon", "values", "labels", "r", "theta", "locations", "open", "close")
_COMPOSITIONS = ("layer", "hconcat", "vconcat", "concat")


def _describe_plotly(figure: Any, options: SummaryOptions) -> Iterator[Fact]:
    traces = figure.data
    yield caption_fact(
        f"{len(traces) or 'no'} trace{'' if len(traces) == 1 else 's'}{_title_suffix(_title_text(figure.layout.title))}"
    )
    yield from _axes_fact([*_axis_titles(figure.layout)])
    for trace in traces[:_MAX_ITEMS]:
        yield _trace_fact(trace, options)
    if len(traces) > _MAX_ITEMS:
        yield Fact(f"{len(traces) - _MAX_ITEMS:,} more traces")
    if figure.frames:
        yield Fact(f"{len(figure.frames):,} frames")


def _title_text(title: Any) -> str:
    return str(getattr(title, "text", title) or "")


def _title_suffix(title: str) -> str:
    return f", {quote(title, 80)}" if title else ""


def _axes_fact(titles: list[tuple[str, str]]) -> Iterator[Fact]:
    if titles:
        yield caption_fact(f"axes: {format_list([f'{name} {quote(title)}' for name, title in titles], _MAX_ITEMS)}")


def _axis_titles(layout: Any) -> Iterator[tuple[str, str]]:
    for name in sorted(layout):
        if name.startswith(("xaxis", "yaxis")) and _title_text(layout[name].title):
            kind = layout[name].type
            yield name.replace("axis", ""), _title_text(layout[name].title) + (f" ({kind})" if kind == "log" else "")


def _trace_fact(trace: Any, options: SummaryOptions) -> Fact:
    mode, name = getattr(trace, "mode", None), trace.name
    data = [(key, getattr(trace, key)) for key in _DATA_ATTRIBUTES if getattr(trace, key, None) is not None]
    header = f"  {trace.type}" + (f" ({mode})" if mode else "") + (f" {quote(name)}" if name else "")
    header += ": " + ", ".join(f"{key} of {_format_length(values)}" for key, values in data) if data else ""
    ranges = "; ".join(f"{key} {_describe_values(values, options)}" for key, values in data)
    return Fact(f"{header}; {ranges}" if ranges else header, shows=True, schema=strip_quoted(header))


def _format_length(values: Any) -> str:
    if isinstance(values, dict):
        return str(values.get("shape") or values.get("dtype") or "encoded")
    return " x ".join(f"{side:,}" for side in getattr(values, "shape", (len(values),)))


def _describe_values(values: Any, options: SummaryOptions) -> str:
    """Describe the range of numbers or times, or the first of other values."""
    np = sys.modules.get("numpy")
    if isinstance(values, dict) or np is None:
        return "encoded"
    sample = number_ranges.thin(np.asarray(values), options.sample) if len(values) else np.asarray([])
    if sample.dtype.kind == "M":
        ends = np.datetime_as_string([sample.min(), sample.max()], unit="s").tolist()
        return " to ".join(str(end).removesuffix("T00:00:00") for end in ends)
    try:
        return number_ranges.describe_range(
            number_ranges.to_floats(sample if sample.dtype.kind != "U" else sample.astype(object))
        )
    except (TypeError, ValueError):
        return format_list([options.short(value) for value in sample[:4].tolist()], 3)


def _describe_altair(chart: Any, options: SummaryOptions, depth: int = 0) -> Iterator[Fact]:
    for name in _COMPOSITIONS:
        parts = _get_property(chart, name)
        if parts is not None:
            kind = {"layer": "layers", "hconcat": "side by side", "vconcat": "one above the other"}.get(name, "charts")
            yield caption_fact(f"{'  ' * depth}{len(parts)} {kind}{_title_suffix(_chart_title(chart))}")
            yield from _data_fact(_get_property(chart, "data"), options, depth)
            for part in parts[:_MAX_ITEMS] if depth < 3 else []:
                yield from _describe_altair(part, options, depth + 1)
            return
    yield from _single_chart_facts(chart, options, depth)


def _single_chart_facts(chart: Any, options: SummaryOptions, depth: int) -> Iterator[Fact]:
    inner = _get_property(chart, "spec")
    mark = _get_property(chart, "mark")
    mark_text = (
        f"mark {_get_property(mark, 'type') if not isinstance(mark, str) else mark}" if mark is not None else "no mark"
    )
    yield caption_fact(
        f"{'  ' * depth}{mark_text if inner is None else 'repeated chart'}{_title_suffix(_chart_title(chart))}"
    )
    encoding = _get_property(chart, "encoding")
    channels = encoding._kwds if encoding is not None else {}
    given_channels = {name: channel for name, channel in channels.items() if not _is_undefined(channel)}
    if given_channels:
        channels_text, schema_text = (
            format_list([f"{name}={format_channel(channel)}" for name, channel in given_channels.items()], _MAX_ITEMS)
            for format_channel in (_format_channel, _format_field)
        )
        yield Fact(f"{'  ' * depth}encodes {channels_text}", shows=True, schema=f"{'  ' * depth}encodes {schema_text}")
    yield from _data_fact(_get_property(chart, "data"), options, depth)
    if _get_property(chart, "transform"):
        yield Fact(f"{'  ' * depth}{len(_get_property(chart, 'transform'))} transforms")
    if inner is not None and depth < 3:
        yield from _describe_altair(inner, options, depth + 1)


def _get_property(schema: Any, name: str) -> Any:
    """Return a property that was set, or None."""
    value = getattr(schema, "_kwds", {}).get(name)
    return None if _is_undefined(value) else value


def _is_undefined(value: Any) -> bool:
    return value is None or type(value).__name__ == "UndefinedType"


def _chart_title(chart: Any) -> str:
    title = _get_property(chart, "title")
    return str(title if isinstance(title, (str, list)) else _get_property(title, "text") or "")


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


def _data_fact(data: Any, options: SummaryOptions, depth: int) -> Iterator[Fact]:
    """Describe the chart's data: its columns, or its URL."""
    location = data if isinstance(data, str) else _get_property(data, "url")
    if location is not None:
        yield Fact(
            f"{'  ' * depth}data at {options.short(location)}", shows=True, schema=f"{'  ' * depth}data at a URL"
        )
    elif data is not None:
        shape = getattr(data, "shape", None)
        columns = format_list([str(name) for name in getattr(data, "columns", ())], _MAX_ITEMS)
        sides = f" {shape[0]:,} x {shape[1]:,}" if isinstance(shape, tuple) and len(shape) == 2 else ""
        yield Fact(f"{'  ' * depth}data {type(data).__name__}{sides}" + (f": {columns}" if columns else ""))


def _describe_bokeh(plot: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield caption_fact(f"{len(plot.renderers)} renderers{_title_suffix(_title_text(plot.title))}")
    yield from _axes_fact([(name, str(axis.axis_label)) for name, axis in _axis_sides(plot) if axis.axis_label])
    for renderer in plot.renderers[:_MAX_ITEMS]:
        if hasattr(renderer, "glyph"):
            yield from _glyph_fact(renderer, options)
    labels = [str(_unwrap_value(item.label)) for legend in plot.legend for item in legend.items]
    if labels:
        yield legend_fact("", labels, _MAX_ITEMS)


def _axis_sides(plot: Any) -> Iterator[tuple[str, Any]]:
    for name in ("below", "left", "above", "right"):
        yield from ((name, part) for part in getattr(plot, name) if hasattr(part, "axis_label"))


def _unwrap_value(value: Any) -> Any:
    return getattr(value, "value", None) or getattr(value, "field", None) or value


def _glyph_fact(renderer: Any, options: SummaryOptions) -> Iterator[Fact]:
    columns = renderer.data_source.data
    lengths = ", ".join(f"{name} of {_format_length(values)}" for name, values in columns.items())
    header = f"  {type(renderer.glyph).__name__}: {lengths}"
    ranges = "; ".join(f"{name} {_describe_values(values, options)}" for name, values in columns.items())
    yield Fact(f"{header}; {ranges}", shows=True, schema=header)


def _describe_layout(layout: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{len(layout.children)} parts")
    for part in layout.children[:_MAX_ITEMS]:
        inner = part[0] if isinstance(part, tuple) else part
        yield caption_fact(f"  {type(inner).__name__}{_title_suffix(_title_text(getattr(inner, 'title', None)))}")


def _measure_plotly(figure: Any) -> str:
    return f"{len(figure.data)} traces"


def _measure_bokeh(plot: Any) -> str:
    return f"{len(plot.renderers)} renderers"


FAMILY = TypeFamily(
    {
        "plotly.BaseFigure": _describe_plotly,
        "altair.TopLevelMixin": _describe_altair,
        "bokeh.Plot": _describe_bokeh,
        "bokeh.FlexBox": _describe_layout,
        "bokeh.GridBox": _describe_layout,
        "bokeh.GridPlot": _describe_layout,
    },
    measures={"plotly.BaseFigure": _measure_plotly, "bokeh.Plot": _measure_bokeh},
)
