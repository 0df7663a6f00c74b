"""scikit-learn estimators, pipelines and searches."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.unit.summaries.described import facts, measure, schema, summarize, text

TABLE = pd.DataFrame({"width": [1.0, 2.0, 3.0, 4.0], "height": [4.0, 1.0, 2.0, 5.0]})
LABELS = np.array(["secret_a", "secret_a", "secret_b", "secret_b"])


def test_a_fitted_estimator_is_described_by_its_attributes():
    estimator = LogisticRegression(C=2.5).fit(TABLE, LABELS)
    assert text(estimator).startswith("fitted on 2 features\nLogisticRegression(C=2.5)\nfeatures: width, height\n")
    assert "  coef_: ndarray 1 x 2 float64" in text(estimator)
    assert "  classes_: ndarray 2 <U8 ['secret_a', 'secret_b']" in text(estimator)
    shared = schema(estimator)
    assert "parameters: C: float, " in shared and "  classes_: ndarray 2 <U8" in shared and "width, height" in shared
    assert "secret" not in shared and "2.5" not in shared


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (ColumnTransformer([("n", StandardScaler(), ["a", "b"]), ("c", "drop", "d")]), "StandardScaler(), ['a', 'b']"),
        (make_pipeline(StandardScaler(), LogisticRegression(C=3.0)), "LogisticRegression(C=3.0)"),
        (make_pipeline(StandardScaler(), LogisticRegression()).fit(TABLE, LABELS), "fitted\nPipeline("),
        (Pipeline([("a", "passthrough")]), "not fitted\nPipeline(steps=[('a', 'passthrough')])"),
        (KMeans(3), "KMeans(n_clusters=3)"),
        (Pipeline([]), "not fitted"),
    ],
)
def test_kinds_of_estimators(estimator, expected):
    assert expected in text(estimator)


def test_a_search_is_described_by_what_it_found():
    search = GridSearchCV(LogisticRegression(), {"C": [77.5, 78.5]}, cv=2)
    assert "estimator=LogisticRegression()" in text(search)
    search.fit(TABLE, LABELS)
    assert "best_params_: {'C': 77.5}" in text(search) and "best_score_: " in text(search)
    assert "best_params_: dict of 1 str to float" in schema(search) and "77.5" not in schema(search)


def test_the_measure_shows_whether_it_is_fitted():
    estimator = LinearRegression()
    assert measure(estimator) == "not fitted"
    assert measure(estimator.fit(TABLE, [1, 2, 3, 4])).startswith("fitted, ")
    assert measure(make_pipeline(estimator)) == "fitted"


def test_a_broken_foreign_estimator_gives_one_fact():
    class Half(BaseEstimator):
        def __init__(self, missing=1):
            pass

    assert ": not fitted\n" in summarize(Half()).text


def test_nothing_is_changed():
    estimator = make_pipeline(StandardScaler(), KMeans(2, random_state=0)).fit(TABLE)
    before = pickle.dumps(estimator)
    assert facts(estimator)
    assert pickle.dumps(estimator) == before
