"""Measures: results of units, estimators with intervals, paired comparison."""
