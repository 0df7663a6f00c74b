"""What depends on moment, machine and process is taken out of texts, and nothing else."""

from datetime import UTC, date, datetime, timedelta

import pytest

from exploracoder_jupyter.trace.comparison import texts_match
from exploracoder_jupyter.trace.text_normalization import normalize

DAY = date(2026, 11, 22)
NOW = datetime(2026, 11, 22, 5, 39, 10, 204684, UTC)
LATER = NOW + timedelta(hours=7, seconds=3)


def plain(text, day=DAY):
    return normalize(text, day=day)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<A at 0x7f2c3d4e5f60>", "<A at 0x55d0c3a1b200>"),
        ("<A at 0x1F3A40>", "<A at 0x2B3A40>"),
        ("id 139872345678912", "id 140112345678912"),
        (f"{NOW}", f"{LATER}"),
        (f"{NOW:%Y-%m-%dT%H:%M:%S}Z", f"{LATER:%Y-%m-%dT%H:%M:%S}Z"),
        (f"{NOW.replace(tzinfo=None)!r}", f"{LATER.replace(tzinfo=None)!r}"),
        (NOW.ctime(), LATER.ctime()),
        (f"{NOW:%d %b %Y %H:%M}", f"{LATER:%d %b %Y %H:%M}"),
        (f"{NOW:%B %d, %Y}", f"{LATER:%B %d, %Y}"),
        (f"{NOW.timestamp()}", f"{LATER.timestamp()}"),
        (f"{int(NOW.timestamp() * 1000)}", f"{int(LATER.timestamp() * 1000)}"),
        ("[12:00:01] done", "[13:59:58] done"),
        ("took 1.23 s", "took 0.98 s"),
        ("41 ms", "1,200 ms"),
        ("12 ms ± 3 ms per loop (mean ± std. dev. of 7 runs, 100 loops each)", "9.1 µs ± 31 ns per loop (mean)"),
        ("1e+03 ns ± 0 ns per loop (mean ± std. dev. of 1 run, 5 loops each)", "980 ns ± 1e+03 ns per loop (mean)"),
        ("CPU times: user 3 ms, sys: 1 ms\nWall time: 4 ms", "CPU times: user 1 s\nWall time: 1.2 s"),
        ("40.1it/s", "7.25it/s"),
        (" 45%|████▌     | 45/100 [00:01<00:01, 40.1it/s]", "100%|██████████| 100/100 [00:02<00:00, 51.0it/s]"),
        ("\rload  10%|█  | 1/9\rload 100%|███| 9/9", "load 100%|███| 9/9"),
        ("12it [00:00, 40.1it/s]", "12it [00:03, 7.25it/s]"),
        ("5/5 ━━━━━━━━━━ 1s 3ms/step - loss: 0.5", "5/5 ━━━━━━━━━━ 2s 4ms/step - loss: 0.4"),
        ("Working ━━━━━━━━━━ 100% 0:00:01", "Working ━━━━━━━ 100% 0:00:04"),
        ("/tmp/tmpab12cd3e/x.txt", "/tmp/tmpzz99qq1w/x.txt"),
        ("/tmp/ipykernel_12/45.py:3: UserWarning: x", "/tmp/ipykernel_9/1.py:4: UserWarning: x"),
        ("/usr/lib/python3.11/json/decoder.py:355: X", "/opt/py/lib/python3.12/json/decoder.py:338: X"),
        ("~/work/data.csv", "/home/me/other/data.csv"),
        (r"C:\Users\me\data.csv", r"D:\work\data.csv"),
        ("{3, 1, 2}", "{1, 2, 3}"),
        ("frozenset({'b', 'a, c'})", "frozenset({'a, c', 'b'})"),
        ("{frozenset({2, 1}), frozenset({0})}", "{frozenset({0}), frozenset({1, 2})}"),
        ("{'x': {2, 1}}", "{'x': {1, 2}}"),
        ("dict_keys(['b', 'a'])", "dict_keys(['a', 'b'])"),
        ("pid 1234, pid=5", "pid 9, pid=777"),
        ("Thread-5 ForkPoolWorker-3", "Thread-12 ForkPoolWorker-1"),
        ("http://localhost:8888/x 127.0.0.1:5000 port 5000", "http://localhost:1/x 127.0.0.1:2 port 3"),
        ("550e8400-e29b-41d4-a716-446655440000", "123e4567-e89b-12d3-a456-426614174000"),
        ("#T_40924_row0_col0 {", "#T_8c207_row0_col0 {"),
        ('<table id="T_c3860">', '<table id="T_c9990">'),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a  \nb\n\n", "a\nb"),
    ],
)
def test_what_differs_by_itself_is_the_same(one, other):
    assert plain(one) == plain(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2020-01-01", "2021-01-01"),
        ("2020-01-01 09:30:00", "2020-01-01 10:30:00"),
        ("datetime.date(2020, 1, 1)", "datetime.date(2020, 1, 2)"),
        ("105 minutes", "106 minutes"),
        ("5 s", "6 s"),
        ("1.23", "1.24"),
        ("1600000000", "1600000001"),
        ("{1, 2}", "{1, 3}"),
        ("{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}"),
        ("[3, 1, 2]", "[1, 2, 3]"),
        ("https://a.org/x/y", "https://a.org/z/y"),
        ("a/b/c.txt", "a/d/c.txt"),
        ("0xff", "0xfe"),
        ("process 3", "process 4"),
        ("  indented", "indented"),
        ("97 %", "98 %"),
        ("| 25%   |  2.5 |", "| 25%   |  3.5 |"),
        ("| a | 12% | 345 |", "| a | 12% | 346 |"),
        ("25%|2|3", "25%|2|4"),
        ("apples ████ 12", "apples ████ 13"),
        ("0xff8800", "0xff8801"),
        ("crc 0xdeadbeef", "crc 0xdeadbee0"),
    ],
)
def test_what_is_data_stays(one, other):
    assert plain(one) != plain(other)


def test_a_day_is_masked_only_on_that_day():
    assert plain("on 2026-11-22") == plain("on 2026-11-23", date(2026, 11, 23))
    assert plain("on 2026-11-22") != plain("on 2026-11-22", date(2027, 11, 23))


@pytest.mark.parametrize(
    "piece",
    [
        "1",
        "a",
        "/usr",
        "{it's {broken, 'text\n",
        "{",
        "1,1,",
        "1:2",
        "Jan Feb ",
        "/tmp/aaaaaaaa",
        "10%|██ |",
        "2026-11-22",
        "[",
    ],
)
def test_long_texts_of_any_kind_are_taken(piece):
    text = piece * (30_000 // len(piece)) + "}" * 100
    assert plain(text)
    assert texts_match(plain(text), plain(f"{text} changed"), 1e-6) is False
