"""Matplotlib figures, described by the content of their axes."""

import io

import matplotlib
import numpy as np
import pandas as pd
import pytest

from tests.unit.summaries.described import measure, schema, text

matplotlib.use("Agg")
from matplotlib import pyplot as plt


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture
def axes():
    return plt.figure().add_subplot()


def of(axes):
    return text(axes.figure)


def test_a_line_plot_is_described_by_its_axes_series_and_legend(axes):
    axes.plot(range(2000, 2021), range(21), label="north")
    axes.plot(range(2000, 2021), [5, 9, 3] * 7, label="south")
    axes.set(title="Sales", xlabel="year", ylabel="units")
    axes.legend(title="region")
    assert of(axes).splitlines() == [
        "1 axes, 6.4 x 4.8 inches",
        'axes "Sales", x "year", y "units"',
        '  line "north": 21 points; x 2000 to 2020; y 0 to 20, rising',
        '  line "south": 21 points; x 2000 to 2020; y 3 to 9 (first 5, last 3, '
        "highest at x = 2001, lowest at x = 2002)",
        '  legend "region": "north", "south"',
    ]


def test_the_schema_has_counts_and_nothing_of_the_data_or_of_titles_and_labels(axes):
    axes.plot([701, 702], [801, 802], label='of "secret", a')
    axes.scatter([703], [803], c=[903])
    axes.bar([704], [804])
    axes.set(title="mean of secret", xlim=(600, 777), xlabel="secret", yscale="log")
    axes.legend(title="secret")
    axes.figure.suptitle("secret")
    axes.annotate("a secret", (702, 802))
    summary = schema(axes.figure)
    assert "inches\naxes, x, y (log)\n  bars: 1\n  line: 2 points\n" in summary and "  legend of 1" in summary
    assert not any(str(value) in summary for value in (701, 702, 703, 704, 801, 802, 803, 804, 903, 777, "secret"))


def test_subplots_with_bars_and_an_image():
    figure, (left, right) = plt.subplots(1, 2)
    figure.suptitle("Overview")
    left.bar(["apples", "pears"], [3, 7])
    image = right.imshow(np.arange(12).reshape(3, 4), cmap="gray")
    figure.colorbar(image, label="depth")
    summary = text(figure)
    assert '3 axes "Overview"' in summary
    assert "bars: 2; apples = 3, pears = 7" in summary
    assert "image: 3 x 4 int64; values 0 to 11" in summary
    assert 'axes 3: colour bar of axes 2 "depth", gray, 0 to 11' in summary


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (lambda a: a.scatter(np.arange(10), np.arange(10) * 2, label="all"), 'points "all": 10; x 0 to 9; y 0 to 18'),
        (lambda a: a.hist(range(100), bins=2), "bars: 2; 24.75 = 50, 74.25 = 50"),
        (lambda a: a.bar(range(20), range(20)), "bars: 20; from 0 to 19, 0 to 19"),
        (lambda a: a.hist([[1, 2], [2, 3]], label=["p", "q"]), 'bars "q": 10'),
        (lambda a: a.barh(["u", "v"], [1, 2]), "horizontal bars: 2; u = 1, v = 2"),
        (lambda a: a.stairs([1, 5, 2], [0, 1, 2, 3], label="s"), 'StepPatch "s"'),
        (lambda a: a.axhline(3), "horizontal line: at y = 3"),
        (lambda a: a.plot([1, 2], [3, 4], "o"), "points: 2 points; x 1, 2; y 3, 4"),
        (lambda a: a.plot(["a", "b"], [3, 4]), "x has a, b"),
        (lambda a: a.plot(pd.date_range("2020", periods=9), range(9)), "x 2020-01-01 to 2020-01-09"),
        (lambda a: pd.Series(range(9), pd.date_range("2020", periods=9)).plot(ax=a), "x 2020-01-01 to 2020-01-09"),
        (lambda a: pd.DataFrame({"u": [1, 2]}, ["one", "two"]).plot.bar(ax=a), 'bars "u": 2; one = 1, two = 2'),
        (lambda a: a.errorbar([1, 2], [3, 4], yerr=1, label="e"), 'line with error bars "e": 2 points; x 1, 2; y 3, 4'),
        (lambda a: a.fill_between([1, 2], [3, 4], label="f"), 'PolyCollection "f": 1'),
        (lambda a: a.contourf(np.eye(4)), "ContourSet: "),
        (lambda a: a.pcolormesh(np.eye(4)), "image: 4 x 4 float64; values 0 to 1"),
        (lambda a: a.pie([1, 3], labels=["p", "q"]), "pie: 2 slices; p 25.0%, q 75.0%"),
        (lambda a: a.hlines([1, 2], 0, 1, label="h"), 'LineCollection "h": 2'),
        (lambda a: a.text(1, 2, "hello"), 'text: "hello" at 1, 2'),
        (lambda a: a.set(yscale="log", ylabel="y"), 'y "y" (log)'),
        (lambda a: a.set(xlim=(9, 1)), "x set to 9 to 1"),
        (lambda a: a.table([["1"]]), "not described: 1 Table"),
        (lambda a: None, "axes, empty"),
        (lambda a: [a.plot([i], [i]) for i in range(15)], "not described: 5 Line2D"),
    ],
)
def test_kinds_of_artists(axes, draw, expected):
    draw(axes)
    assert expected in of(axes)


def test_axes_of_other_kinds():
    figure = plt.figure()
    solid, polar = figure.add_subplot(121, projection="3d"), figure.add_subplot(122, projection="polar")
    solid.scatter([1, 2], [3, 4], [5, 6])
    solid.plot([1, 2], [3, 4], [5, 6], label="way")
    solid.set_zlabel("height")
    polar.plot([0, 1], [2, 3])
    twin = plt.figure().add_subplot().twinx()
    summary = text(figure)
    assert 'axes 1, 3d, z "height"' in summary and 'Line3D "way"' in summary and "axes 2, polar" in summary
    assert "twin of axes 1" in text(twin.figure)


def test_parts_of_a_figure_are_described_too(axes):
    (line,) = axes.plot([1, 2], [3, 4], label="way")
    assert schema(line) == "line: 2 points" and schema(axes.legend()) == "legend of 1"
    bars = axes.bar(["a"], [5])
    title = axes.set_title("T")
    assert text(axes).startswith('axes "T"')
    assert text(line).startswith('line "way": 2 points; x 1, 2; y 3, 4')
    assert text(bars).startswith("bars: 1; a = 5")
    assert text(axes.legend()) == 'legend: "way"'
    assert text(title)
    assert text(plt.Line2D([1], [2])) == "in no axes"
    assert text(plt.figure()) == "no axes, 6.4 x 4.8 inches"
    part = plt.figure().subfigures(1, 2)[1]
    part.subplots().set_title("R")
    assert text(part) == '1 axes\naxes "R", empty'


def test_measures_change_when_something_is_added(axes):
    before = measure(axes.figure), measure(axes)
    axes.plot([1, 2])
    assert measure(axes.figure) != before[0] and measure(axes) != before[1]


def test_a_broken_artist_hides_no_other(axes):
    class Broken(plt.Line2D):
        def get_xydata(self):
            raise RuntimeError("broken")

    axes.add_line(Broken([1], [2]))
    axes.plot([1, 2], [3, 4], label="good")
    assert "Broken" in of(axes) and 'line "good"' in of(axes)


def drawn(figure):
    raw = io.BytesIO()
    figure.savefig(raw, format="raw", dpi=40)
    return raw.getvalue()


def test_a_figure_saved_after_being_described_is_the_same_picture():
    def figure():
        figure, (left, right, last, image) = plt.subplots(1, 4, layout="constrained")
        last.boxplot([[1, 2, 3, 99], [1, 2]])
        image.imshow([[1, np.nan], [np.inf, 3]])
        left.plot(["a", "b"], [1, 2], label="x")
        left.bar(["a", "c"], [3, 4])
        left.legend()
        figure.colorbar(right.scatter(pd.date_range("2020", periods=3), [1, 10, 100], c=[1, 2, 3]))
        right.set_yscale("log")
        left.set_xticks([0, 1], ["u", "v"])
        return figure

    shown = figure()
    assert text(shown) == text(shown)
    assert drawn(shown) == drawn(figure())
