"""Labels of points cover neither one another nor a point."""

from exploracoder_jupyter.evaluation.report_plots import Box, place_labels


def test_labels_of_near_points_are_apart_and_inside():
    points = [Box(190, 50), Box(190, 56), Box(5, 5)]
    spots = place_labels(points, ["first", "second", "third"], 200, 100)
    assert all(0 < spot.x < 200 and 0 < spot.y < 100 for spot in spots)
    assert abs(spots[0].y - spots[1].y) >= 13 or abs(spots[0].x - spots[1].x) >= 35
