"""Skerries: charts of ports and the lanes between them.

Draw a `Chart`, take a `Survey` of it, ask the survey.
"""

from skerries.chart import Chart
from skerries.errors import BadQuery, Loop, SkerriesError, StaleSurvey, UnknownPort
from skerries.lengths import convert
from skerries.matches import Matches
from skerries.places import Lane, Port
from skerries.results import Cluster, Reach, Route, Tally, Throughput
from skerries.survey import Survey

__version__ = "0.9"

__all__ = [
    "BadQuery",
    "Chart",
    "Cluster",
    "Lane",
    "Loop",
    "Matches",
    "Port",
    "Reach",
    "Route",
    "SkerriesError",
    "StaleSurvey",
    "Survey",
    "Tally",
    "Throughput",
    "UnknownPort",
    "convert",
]
