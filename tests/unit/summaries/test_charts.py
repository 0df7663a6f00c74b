"""Specifications of charts: Plotly, Altair, Bokeh."""

import altair as alt
import numpy as np
import pandas as pd
from bokeh import layouts, plotting
from plotly import express
from plotly import graph_objects as go

from tests.unit.summaries.described import measure, schema, text

TABLE = pd.DataFrame({"year": [2020, 2021], "sales": [701, 702], "kind": ["secret_a", "secret_b"]})


def test_a_plotly_figure_is_described_by_its_traces():
    figure = go.Figure([go.Scatter(x=[1, 2, 3], y=[701, None, 703], mode="lines", name="north")])
    figure.update_layout(title="Sales", xaxis_title="year", yaxis={"title": "units", "type": "log"})
    assert text(figure).splitlines() == [
        'traces: 1, "Sales"',
        'axes: x "year", y "units (log)"',
        '  scatter (lines) "north": x of 3, y of 3; x 1 to 3; y 701 to 703, 1 not finite',
    ]
    assert schema(figure).splitlines()[-1] == "  scatter (lines): x of 3, y of 3"
    assert measure(figure) == "1 traces"


def test_kinds_of_traces():
    dates = pd.date_range("2020", periods=3)
    figure = go.Figure(
        [go.Heatmap(z=np.eye(3)), go.Pie(labels=["p", "q"], values=[1, 3]), go.Bar(x=dates, y=[1, 2, 3])]
    )
    summary = text(figure)
    assert "heatmap: z of 3 x 3; z 0 to 1" in summary
    assert "labels 'p', 'q'" in summary and "values 1 to 3" in summary
    assert "x 2020-01-01 to 2020-01-03" in summary


def test_an_empty_figure_and_a_large_one():
    assert text(go.Figure()) == "traces: 0"
    assert "3 more traces" in text(go.Figure([go.Bar(y=[n]) for n in range(13)]))
    assert "y of 200,000; y 0 to " in text(go.Figure(go.Scatter(y=np.arange(200_000))))


def test_figures_of_plotly_express_are_described_unchanged():
    figure = express.scatter(TABLE, x="year", y="sales", color="kind", title="T")
    before = figure.to_json()
    assert 'axes: x "year", y "sales"' in text(figure) and '"secret_a"' in text(figure)
    assert schema(figure).splitlines()[:3] == ["traces: 2", "axes: x, y", "  scatter (markers): x of 1, y of 1"]
    assert "secret" not in schema(figure)
    assert figure.to_json() == before


def test_an_altair_chart_is_described_by_its_parts():
    chart = alt.Chart(TABLE, title="Sales").mark_line(point=True).encode(x="year:O", y=alt.Y("mean(sales)"))
    assert text(chart).splitlines() == [
        'mark line, "Sales"',
        "encodes x=year:O, y=mean(sales)",
        "data DataFrame 2 x 3: year, sales, kind",
    ]
    assert "Sales" not in schema(chart) and "secret" not in schema(chart) and "701" not in schema(chart)


def test_a_value_in_a_fields_place_is_data():
    chart = alt.Chart(TABLE).mark_bar().encode(x="year:O", color=alt.value("secret"))
    assert "encodes color=secret, x=year:O" in text(chart)
    assert "encodes color=ColorValue, x=year:O" in schema(chart)


def test_kinds_of_altair_charts():
    chart = alt.Chart(TABLE).mark_bar().encode(x="year:O")
    assert text(chart + chart).startswith("2 layers\n")
    assert "  mark bar" in text(chart | chart)
    assert text((chart | chart) & chart).startswith("2 one above the other\n")
    assert text(chart.facet("kind")).startswith("repeated chart")
    assert "1 transforms" in text(chart.transform_filter("datum.year > 1"))
    assert text(alt.Chart()) == "no mark"
    assert "data at 'http://x.test/secret'" in text(alt.Chart("http://x.test/secret").mark_point())
    assert "secret" not in schema(alt.Chart("http://x.test/secret").mark_point())


def test_a_bokeh_plot_is_described_by_its_glyphs():
    plot = plotting.figure(title="Sales", x_axis_label="year")
    plot.line([1, 2, 3], [701, 702, float("nan")], legend_label="north")
    assert text(plot).splitlines() == [
        'renderers: 1, "Sales"',
        'axes: below "year"',
        "  Line: x of 3, y of 3; x 1 to 3; y 701 to 702, 1 not finite",
        'legend: "north"',
    ]
    assert schema(plot).splitlines() == [
        "renderers: 1",
        "axes: below",
        "  Line: x of 3, y of 3",
        "legend of 1",
    ]
    assert measure(plot) == "1 renderers"
    assert text(layouts.row(plotting.figure(), plotting.figure(title="T"))) == 'parts: 2\n  figure\n  figure, "T"'
