"""Skerries: charts of ports and the lanes between them.

Draw a `Chart`, take a `Survey` of it, ask the survey.
"""

from skerries._chart import Chart
from skerries._errors import BadQuery, Loop, SkerriesError, StaleSurvey, UnknownPort
from skerries._lengths import convert
from skerries._matches import Matches
from skerries._places import Lane, Port
from skerries._results import Cluster, Reach, Route, Tally, Throughput
from skerries._survey import Survey

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
