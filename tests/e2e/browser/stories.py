"""What several stories begin with: a task of two subtasks, and how its cell is written."""

from itertools import count

from tests.e2e.browser.play import Scene

FIRST, SECOND = "Take the median of the numbers.", "Say how far they are spread."


def two_scenes():
    """Two subtasks with two candidates each; the second builds on what the first kept."""
    return (
        Scene(
            FIRST,
            [
                "import statistics\nmiddle = statistics.median([3, 1, 2])\nprint('middle', middle)",
                "middle = 20\nprint(middle)",
            ],
            hinted=["middle = 30\nprint('as hinted', middle)", "middle = 31\nprint(middle)"],
        ),
        Scene(
            SECOND,
            ["print('spread around', middle)", "spread = middle * 10\nprint('spread', spread)"],
            hinted=["print('hinted, around', middle)", "print('hinted too', middle)"],
            apis=("statistics.stdev",),
        ),
    )


def cell(play, *options, task="The median of 3, 1, 2, and how far they are spread."):
    """A calling cell for this play."""
    words = ["%%explora statistics --candidates 2 --model", play.name, "--base-url", play.url, *options]
    return " ".join(words) + f"\n{task}"


_numbers = count(1)


def start_run(tab, server, play, *options, name="", more=()):
    """A new notebook whose exploration has been called; cell 0 loads the magic, cell 1 calls.

    Without a name it gets one of its own: that of an earlier story may still be saved in a tab that is used again.
    """
    name = name or f"story-{next(_numbers)}.ipynb"
    notebook = tab.open(server.write(name, cell(play, *options), *more))
    notebook.run_and_wait(0)
    notebook.run(1)
    return notebook
