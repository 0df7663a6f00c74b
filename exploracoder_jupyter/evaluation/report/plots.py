"""The plots of a report. Vega-Lite draws them when the page is written, so the page needs no script for them."""

from __future__ import annotations

from exploracoder_jupyter.core.errors import MissingRequirement
from exploracoder_jupyter.evaluation.measures.summary import Summary
from exploracoder_jupyter.evaluation.report.curve_plot import curve_plot
from exploracoder_jupyter.evaluation.report.pass_plot import pass_plot
from exploracoder_jupyter.evaluation.report.plot_style import Plot
from exploracoder_jupyter.evaluation.report.solved_plot import solved_plot


def draw_plots(summary: Summary) -> list[Plot]:
    """Draw all plots for which there are figures.

    Raises:
        MissingRequirement: the extra `bench` is not installed.
    """
    try:
        import altair  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise MissingRequirement(
            "Plots need the packages 'altair' and 'vl-convert-python'.",
            remedy="Install them: pip install 'exploracoder-jupyter[bench]'.",
        ) from error
    return [plot for plot in (pass_plot(summary), solved_plot(summary), curve_plot(summary)) if plot]
