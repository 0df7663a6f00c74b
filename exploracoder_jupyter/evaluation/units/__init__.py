"""One unit of an evaluation: a strategy solves a problem, and hidden tests score the solution."""
