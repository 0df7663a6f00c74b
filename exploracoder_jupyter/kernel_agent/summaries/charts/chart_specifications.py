"""Specifications of charts: Plotly, Altair, Bokeh. They are read as they stand: not validated, not turned into JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays import number_ranges
from exploracoder_jupyter.kernel_agent.summaries.charts.captions import bare, captioned, entries, quoted
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, Family, Look, listed

_MOST = 10
_DATA = ("x", "y", "z", "lat", "lon", "values", "labels", "r", "theta", "locations", "open", "close")
_CHARTS = ("layer", "hconcat", "vconcat", "concat")


def _plotly(figure: Any, look: Look) -> Iterator[Fact]:
    traces = figure.data
    yield captioned(
        f"{len(traces) or 'no'} trace{'' if len(traces) == 1 else 's'}{_titled(_text(figure.layout.title))}"
    )
    yield from _named_axes([*_axes(figure.layout)])
    for trace in traces[:_MOST]:
        yield _trace(trace, look)
    if len(traces) > _MOST:
        yield Fact(f"{len(traces) - _MOST:,} more traces")
    if figure.frames:
        yield Fact(f"{len(figure.frames):,} frames")


def _text(title: Any) -> str:
    return str(getattr(title, "text", title) or "")


def _titled(title: str) -> str:
    return f", {quoted(title, 80)}" if title else ""


def _named_axes(titles: list[tuple[str, str]]) -> Iterator[Fact]:
    if titles:
        yield captioned(f"axes: {listed([f'{name} {quoted(title)}' for name, title in titles], _MOST)}")


def _axes(layout: Any) -> Iterator[tuple[str, str]]:
    for name in sorted(layout):
        if name.startswith(("xaxis", "yaxis")) and _text(layout[name].title):
            kind = layout[name].type
            yield name.replace("axis", ""), _text(layout[name].title) + (f" ({kind})" if kind == "log" else "")


def _trace(trace: Any, look: Look) -> Fact:
    mode, name = getattr(trace, "mode", None), trace.name
    data = [(key, getattr(trace, key)) for key in _DATA if getattr(trace, key, None) is not None]
    what = f"  {trace.type}" + (f" ({mode})" if mode else "") + (f" {quoted(name)}" if name else "")
    what += ": " + ", ".join(f"{key} of {_length(values)}" for key, values in data) if data else ""
    told = "; ".join(f"{key} {_range(values, look)}" for key, values in data)
    return Fact(f"{what}; {told}" if told else what, shows=True, schema=bare(what))


def _length(values: Any) -> str:
    if isinstance(values, dict):
        return str(values.get("shape") or values.get("dtype") or "encoded")
    return " x ".join(f"{side:,}" for side in getattr(values, "shape", (len(values),)))


def _range(values: Any, look: Look) -> str:
    """Range of numbers or of times, or the first of what is neither."""
    np = sys.modules.get("numpy")
    if isinstance(values, dict) or np is None:
        return "encoded"
    few = number_ranges.thin(np.asarray(values), look.sample) if len(values) else np.asarray([])
    if few.dtype.kind == "M":
        ends = np.datetime_as_string([few.min(), few.max()], unit="s").tolist()
        return " to ".join(str(end).removesuffix("T00:00:00") for end in ends)
    try:
        return number_ranges.span(number_ranges.floats(few if few.dtype.kind != "U" else few.astype(object)))
    except (TypeError, ValueError):
        return listed([look.short(value) for value in few[:4].tolist()], 3)


def _altair(chart: Any, look: Look, depth: int = 0) -> Iterator[Fact]:
    for name in _CHARTS:
        parts = _held(chart, name)
        if parts is not None:
            kind = {"layer": "layers", "hconcat": "side by side", "vconcat": "one above the other"}.get(name, "charts")
            yield captioned(f"{'  ' * depth}{len(parts)} {kind}{_titled(_title(chart))}")
            yield from _data(_held(chart, "data"), look, depth)
            for part in parts[:_MOST] if depth < 3 else []:
                yield from _altair(part, look, depth + 1)
            return
    yield from _single(chart, look, depth)


def _single(chart: Any, look: Look, depth: int) -> Iterator[Fact]:
    inner = _held(chart, "spec")
    mark = _held(chart, "mark")
    words = f"mark {_held(mark, 'type') if not isinstance(mark, str) else mark}" if mark is not None else "no mark"
    yield captioned(f"{'  ' * depth}{words if inner is None else 'repeated chart'}{_titled(_title(chart))}")
    encoding = _held(chart, "encoding")
    channels = encoding._kwds if encoding is not None else {}
    given = {name: one for name, one in channels.items() if not _missing(one)}
    if given:
        told, plain = (
            listed([f"{name}={way(one)}" for name, one in given.items()], _MOST) for way in (_channel, _field)
        )
        yield Fact(f"{'  ' * depth}encodes {told}", shows=True, schema=f"{'  ' * depth}encodes {plain}")
    yield from _data(_held(chart, "data"), look, depth)
    if _held(chart, "transform"):
        yield Fact(f"{'  ' * depth}{len(_held(chart, 'transform'))} transforms")
    if inner is not None and depth < 3:
        yield from _altair(inner, look, depth + 1)


def _held(schema: Any, name: str) -> Any:
    """What was given for a property; None if nothing was."""
    value = getattr(schema, "_kwds", {}).get(name)
    return None if _missing(value) else value


def _missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "UndefinedType"


def _title(chart: Any) -> str:
    title = _held(chart, "title")
    return str(title if isinstance(title, (str, list)) else _held(title, "text") or "")


def _channel(channel: Any) -> str:
    """The field, or the value that stands in its place."""
    if not isinstance(channel, list) and _held(channel, "value") is not None:
        return str(_held(channel, "value"))
    return _field(channel)


def _field(channel: Any) -> str:
    """`price:Q`, `mean(price)`, as it was written; a value by its type."""
    if isinstance(channel, list):
        return listed([_field(one) for one in channel], _MOST)
    for name in ("shorthand", "field"):
        if _held(channel, name) is not None:
            kind = _held(channel, "type") if name == "field" else None
            return str(_held(channel, name)) + (f":{kind}" if kind else "")
    return type(channel).__name__


def _data(data: Any, look: Look, depth: int) -> Iterator[Fact]:
    """What the chart is made of: its columns, or where it is."""
    place = data if isinstance(data, str) else _held(data, "url")
    if place is not None:
        yield Fact(f"{'  ' * depth}data at {look.short(place)}", shows=True, schema=f"{'  ' * depth}data at a URL")
    elif data is not None:
        shape = getattr(data, "shape", None)
        columns = listed([str(name) for name in getattr(data, "columns", ())], _MOST)
        sides = f" {shape[0]:,} x {shape[1]:,}" if isinstance(shape, tuple) and len(shape) == 2 else ""
        yield Fact(f"{'  ' * depth}data {type(data).__name__}{sides}" + (f": {columns}" if columns else ""))


def _bokeh(plot: Any, look: Look) -> Iterator[Fact]:
    yield captioned(f"{len(plot.renderers)} renderers{_titled(_text(plot.title))}")
    yield from _named_axes([(name, str(axis.axis_label)) for name, axis in _sides(plot) if axis.axis_label])
    for renderer in plot.renderers[:_MOST]:
        if hasattr(renderer, "glyph"):
            yield from _glyph(renderer, look)
    labels = [str(_given(item.label)) for legend in plot.legend for item in legend.items]
    if labels:
        yield entries("", labels, _MOST)


def _sides(plot: Any) -> Iterator[tuple[str, Any]]:
    for name in ("below", "left", "above", "right"):
        yield from ((name, part) for part in getattr(plot, name) if hasattr(part, "axis_label"))


def _given(value: Any) -> Any:
    return getattr(value, "value", None) or getattr(value, "field", None) or value


def _glyph(renderer: Any, look: Look) -> Iterator[Fact]:
    columns = renderer.data_source.data
    what = f"  {type(renderer.glyph).__name__}: {', '.join(f'{name} of {_length(v)}' for name, v in columns.items())}"
    told = "; ".join(f"{name} {_range(values, look)}" for name, values in columns.items())
    yield Fact(f"{what}; {told}", shows=True, schema=what)


def _layout(layout: Any, look: Look) -> Iterator[Fact]:
    yield Fact(f"{len(layout.children)} parts")
    for part in layout.children[:_MOST]:
        inner = part[0] if isinstance(part, tuple) else part
        yield captioned(f"  {type(inner).__name__}{_titled(_text(getattr(inner, 'title', None)))}")


def _traces(figure: Any) -> str:
    return f"{len(figure.data)} traces"


def _renderers(plot: Any) -> str:
    return f"{len(plot.renderers)} renderers"


FAMILY = Family(
    {
        "plotly.BaseFigure": _plotly,
        "altair.TopLevelMixin": _altair,
        "bokeh.Plot": _bokeh,
        "bokeh.FlexBox": _layout,
        "bokeh.GridBox": _layout,
        "bokeh.GridPlot": _layout,
    },
    measures={"plotly.BaseFigure": _traces, "bokeh.Plot": _renderers},
)
