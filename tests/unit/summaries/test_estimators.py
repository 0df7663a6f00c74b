"""scikit-learn estimators, pipelines, searches and bunches."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import Bunch

from tests.unit.summaries.described import facts, measure, schema, text

TABLE = pd.DataFrame({"width": [1.0, 2.0, 3.0, 4.0], "height": [4.0, 1.0, 2.0, 5.0]})
LABELS = np.array(["secret_a", "secret_a", "secret_b", "secret_b"])


def test_parameters_that_were_set_come_before_those_by_default():
    summary = text(LogisticRegression(C=2.5)).splitlines()
    assert summary[:2] == ["not fitted", "set: C=2.5"]
    assert summary[-1].startswith("by default: class_weight") and "C," not in summary[-1]


def test_a_fitted_estimator_is_described_by_its_attributes():
    summary = text(LogisticRegression().fit(TABLE, LABELS))
    assert summary.startswith("fitted on 2 features\nfeatures: width, height\n")
    assert "  coef_: ndarray 1 x 2 float64" in summary
    assert "  classes_: ndarray 2 <U8 ['secret_a', 'secret_b']" in summary


def test_the_schema_has_names_and_shapes_alone():
    summary = schema(LogisticRegression(C=2.5).fit(TABLE, LABELS))
    assert "set: C\n" in summary and "  classes_: ndarray 2 <U8" in summary and "features: width, height" in summary
    assert "secret" not in summary and "2.5" not in summary


def test_what_is_computed_when_asked_is_named_and_not_asked():
    class Forest(RandomForestClassifier):
        @property
        def feature_importances_(self):
            raise AssertionError

    summary = text(Forest(2).fit(TABLE, LABELS))
    assert "computed when asked: estimators_samples_, feature_importances_" in summary
    assert "set: n_estimators=2" in summary


def test_a_pipeline_is_described_by_its_steps():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(C=3.0))
    assert text(pipeline).startswith(
        "not fitted\n  standardscaler: StandardScaler\n  logisticregression: LogisticRegression (C set)"
    )
    assert text(pipeline.fit(TABLE, LABELS)).startswith("fitted on 2 features\n")


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (ColumnTransformer([("n", StandardScaler(), ["a", "b"]), ("c", "drop", "d")]), "n: StandardScaler on a, b"),
        (ColumnTransformer([("n", StandardScaler(), ["a", "b"]), ("c", "drop", "d")]), "c: drop on d"),
        (FeatureUnion([("one", StandardScaler()), ("two", OneHotEncoder())]), "two: OneHotEncoder"),
        (VotingClassifier([("one", LogisticRegression())]), "one: LogisticRegression"),
        (Pipeline([("a", "passthrough")]), "a: passthrough"),
        (KMeans(3), "set: n_clusters=3"),
        (StandardScaler(), "not fitted"),
        (Pipeline([]), "not fitted"),
    ],
)
def test_kinds_of_estimators(estimator, expected):
    assert expected in text(estimator)


def test_a_search_is_described_by_what_it_found():
    search = GridSearchCV(LogisticRegression(), {"C": [77.5, 78.5]}, cv=2)
    assert "of LogisticRegression" in text(search)
    search.fit(TABLE, LABELS)
    assert "2 candidates tried" in text(search) and "best: C=77.5, score " in text(search)
    assert "searched: C" in schema(search) and "77.5" not in schema(search)


def test_a_bunch_is_described_by_its_entries():
    bunch = Bunch(data=np.ones((3, 2)), target=["secret"], DESCR="long")
    assert text(bunch).splitlines()[:2] == ["3 entries", f"  data: ndarray 3 x 2 float64, {short(bunch.data)}"]
    assert schema(bunch) == "3 entries\n  data: ndarray 3 x 2 float64\n  target: list of 1\n  DESCR: str"


def short(value):
    from exploracoder_jupyter.kernel_agent.summaries.short_values import ShortFormatter

    return ShortFormatter(apart=True)(value)


def test_the_measure_shows_whether_it_is_fitted():
    estimator = LinearRegression()
    assert measure(estimator) == "not fitted"
    assert measure(estimator.fit(TABLE, [1, 2, 3, 4])).startswith("fitted, ")
    pipeline = make_pipeline(estimator)
    assert measure(pipeline) == "fitted"


def test_an_estimator_of_others_that_breaks_its_promises_gives_its_first_fact():
    class Half(BaseEstimator):
        def __init__(self, missing=1):
            pass

    described = iter(facts_until_error(Half()))
    assert next(described) == "not fitted"


def facts_until_error(value):
    from exploracoder_jupyter.kernel_agent.summaries import summarizer_registry
    from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

    for fact in summarizer_registry.find(value).describe(value, SummaryOptions(repr)):
        yield fact.text


def test_nothing_is_changed():
    estimator = make_pipeline(StandardScaler(), KMeans(2, random_state=0)).fit(TABLE)
    before = pickle.dumps(estimator)
    assert facts(estimator)
    assert pickle.dumps(estimator) == before
