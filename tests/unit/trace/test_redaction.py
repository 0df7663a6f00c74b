"""What never enters a trace: keys, tokens, and who somebody is by the paths of their home."""

import base64
import json
import re
from dataclasses import replace

import pytest

from exploracoder_jupyter.core.events import CandidateObserved, Record, dump, load
from exploracoder_jupyter.core.types import Change, Observation
from exploracoder_jupyter.trace import Redactor
from exploracoder_jupyter.trace.output_sanitizer import sanitize
from exploracoder_jupyter.trace.redaction import Homes, local_homes
from tests.unit.factories import complete_run, ran, recorded, shown, stream
from tests.unit.trace.test_correctness_cells import run as a_tested_run

KEPT = {
    "how",
    "kind",
    "level",
    "outcome",
    "output_type",
    "role",
    "ruling",
    "run_id",
    "show",
    "status",
    "step",
    "stopped_by",
    "unmet",
}
"""Fields of which the values are words of the events themselves, or identify the run."""

PLANTED = {
    "of the run": "hunter2-hunter2",
    "openai": "sk-proj-abc123def456ghi789",
    "bearer": "Bearer abcdef0123456789abcdef",
    "github": "ghp_" + "a1B2" * 9,
    "hugging face": "hf_" + "aB1" * 12,
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "pypi": "pypi-AgEIcHlwaS5vcmcCJDEyMzQ1Njc4LTEyMzQtMTIzNA",
    "stripe": "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "password in an address": "postgres://maria:s3cr3t-pw@db.example.org/x",
    "basic": "Authorization: Basic bWFyaWE6czNjcjN0LXB3LXB3",
    "slack's hook": "https://hooks.slack.com/services/T0abcdef/B0abcdef/sl4ckh00ksl4ckh00k",
    "google's client": "GOCSPX-abcdef0123456789abcdef",
    "azure": "AccountName=x;AccountKey=" + "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1" * 2 + "==;",
    "sendgrid": "SG." + "abcdef0123456789abcdef" + "." + "sendgr1d" * 5,
    "redis, without a user": "redis://:s3cr3t-pw@db.example.org/0",
    "password with signs": "postgres://maria:s3cr3t$pw*@db.example.org/x",
    "password with an at sign": "postgres://maria:x@s3cr3t-pw@db.example.org/x",
    "token as the user": "git+https://s3cr3t0123456789abcdef@git.example.org/x.git",
    "short gitlab": "glpat-s3cr3tabcdefghij",
    "short hugging face": "hf_s3cr3tabcdefghijklmno",
    "short google": "AIzas3cr3tabcdefghijklmnopqrstuvwxyz",
    "pgp": "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQOYBF\n-----END PGP PRIVATE KEY BLOCK-----",
    "behind a line break in a string": r"'a\nsk-proj-abc123def456ghi789'",
    "behind a colour": "\x1b[32msk-proj-abc123def456ghi789\x1b[0m",
    "of the run, in a string": "pass\\\\'word",
    "of the run, in an address": "https://x/?a=pass%5C%27word",
    "of the run, with quotes": 'a"b\\c-secret-é',
    "a key in a block": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
    "linux": "/home/mariachen/thesis/data.csv",
    "linux, elsewhere": "/export/home/mariachen/data.csv",
    "a file's address": "file:///home/mariachen/data.csv",
    "macos": "/Users/mariachen/Documents/data.csv",
    "behind a line break in a string, linux": r"'a\n/home/mariachen/thesis/data.csv'",
    "behind a line break in a string, windows": r"'a\nC:\\Users\\mariachen\\data.csv'",
    "in colour": "\x1b[0;32m/home/mariachen/thesis/data.csv\x1b[0m",
    "in json": r'"\/home\/mariachen\/thesis\/data.csv" "C:\/Users\/mariachen\/data.csv"',
    "of a compiler": "gcc -I/home/mariachen/include -L/home/mariachen/lib",
    "of a database": "sqlite:////home/mariachen/thesis.db",
    "own home, alone": "It is in /lustre/groups/mariachen-lab.",
    "own home in json": r"\/lustre\/groups\/mariachen-lab\/data.csv",
    "own home in an address": "http://x/?p=%2Flustre%2Fgroups%2Fmariachen-lab%2Fdata.csv",
    "own name at the end": "/scratch/mariachen",
    "windows": r"C:\Users\Maria Chen\AppData\Local\data.csv",
    "windows in a string": r"C:\\Users\\Maria Chen\\AppData\\data.csv",
    "windows with slashes": "c:/Users/mariachen/data.csv",
    "windows seen from linux": "/mnt/c/Users/mariachen/data.csv",
    "git bash": "/c/Users/mariachen/data.csv",
    "own home": "/lustre/groups/mariachen-lab/data.csv",
    "own name": "/scratch/mariachen/data.csv",
}
OF_RUN = [name for name in PLANTED if name.startswith("of the run")]
OF_PERSON = [*PLANTED][[*PLANTED].index("linux") :]
TRACES = {
    "sk-proj",
    "abcdef0123456789",
    "ghp_",
    "hf_",
    "AKIA",
    "eyJhb",
    "pypi-",
    "sk_live",
    "s3cr3t",
    "bWFyaWE6",
    "sl4ckh00k",
    "GOCSPX",
    "Eby8vdM02",
    "sendgr1d",
    "lQOYBF",
    "'word",
    "%27word",
    "hunter2",
    "c-secret",
    "MIIEow",
    "mariachen",
    "Maria Chen",
}
"""Of what was planted nothing must be left that has one of these in it."""


def planted(value, text, key=""):
    """The JSON value with the text in every string of it, and as a key where any key may be."""
    if isinstance(value, dict):
        free = {text: text} if key in ("settings", "data") else {}
        return {name: planted(item, text, name) for name, item in value.items()} | free
    if isinstance(value, list):
        return [planted(item, text, key) for item in value]
    return f"{value} ({text})" if isinstance(value, str) and key not in KEPT and not key.endswith("id") else value


def everywhere(text):
    records = [json.loads(dump(record)) for record in [*complete_run(), *recorded(a_tested_run())]]
    return [load(json.dumps({**record, "event": planted(record["event"], text)})) for record in records]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('open("/home/me/data.csv")', 'open("~/data.csv")'),
        ("/home/me/a:/home/you/b", "~/a:~/b"),
        ('File "/home/me/lib/x.py", line 3', 'File "~/lib/x.py", line 3'),
        ("file:///Users/me/x", "file://~/x"),
        (r"C:\Users\me\x", r"~\x"),
        (r"'C:\\Users\\me\\x'", r"'~\\x'"),
        (r"'a\n/home/me/x'", r"'a\n~/x'"),
        ("/home/мария/x", "~/x"),
        (r"'a\nC:\\Users\\me\\x'", r"'a\n~\\x'"),
        ("\x1b[01;34m/home/me/x\x1b[0m", "\x1b[01;34m~/x\x1b[0m"),
        (r'"\/home\/me\/x"', r'"~\/x"'),
        ("cc -I/home/me/include x.c", "cc -I~/include x.c"),
        ("sqlite:////home/me/x.db", "sqlite:///~/x.db"),
    ],
)
def test_a_home_becomes_a_tilde(before, after):
    redactor = Redactor(homes=Homes())
    assert redactor.text(before) == after
    assert redactor.text(after) == after


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com/home/index/a.html",
        "https://example.com/Users/me/x",
        '@app.get("/home/about")',
        "/usr/lib/python3.11/site-packages/pandas/io/common.py",
        "/root/item/name",
        "C:/Program Files/x",
        "/Users/Shared/x/y",
        "/tmp/x/home.csv",
        "a/home/b/c",
        "postgres://{user}:{password}@host/x",
        "http://localhost:8888/lab",
        '@app.route("/home/about/team", methods=["GET"])',
        'client.post("/home/about/team", json={})',
        'requests.get(base + "/home/about/team")',
        'requests.get(f"{base}/home/about/team")',
        '<a href="/home/about/team">',
        "redirect_to_url('/home/about/team')",
        '{"url": "/home/about/team"}',
        "https://example.com/?next=/home/about/team",
        '"GET /home/about/team HTTP/1.1" 200',
        '"/scim/v2/Users/maria/groups"',
        '"/Users/42/photos/x"',
        '"/Users/2819c223-7f76-453a-919d-413861904646/x/y"',
        "/home/jovyan/work/x.csv",
        "/home/user/data.csv",
        "def f(x: int) -> str: ...",
        "~/x",
    ],
)
def test_what_is_nobodys_home_stays(text):
    assert Redactor(homes=Homes(["/root"], "root")).text(text) == text


def test_this_machines_home_is_always_hidden():
    code = '@app.get("/home/about/team")'
    assert Redactor(homes=Homes(["/home/about"])).text(code) == '@app.get("~/team")'
    assert Redactor(homes=Homes(["/home/max"], "max")).text("min/max of /home/max, maximum") == "min/max of ~, maximum"


@pytest.mark.parametrize("home", ["/opt", "/workspace", "/srv", "/home/vscode", "/home/ec2-user", "/var/www", "/"])
def test_a_home_that_is_nobodys_stays(home):
    text = f"open('{home}/data.csv') {home}"
    assert Redactor(homes=Homes([home], home.rpartition("/")[2])).text(text) == text


def test_homes_beside_ones_own_are_known(tmp_path, monkeypatch):
    (tmp_path / "otheruser").mkdir()
    monkeypatch.setattr("exploracoder_jupyter.trace.redaction._PLACES", (str(tmp_path),))
    assert Redactor(homes=local_homes()).text(f"cd {tmp_path}/otheruser") == "cd ~"


WORDS = ("kind", "status", "step", "role", "level", "outcome", "output_type", "ruling", "what", "how")


@pytest.mark.parametrize("word", WORDS)
def test_a_candidates_lookalike_word_is_not_ours(word):
    output = shown(application_json={word: "sk-proj-abc123def456ghi789", "inner": {word: "lone \ud800"}})
    written = dump(Redactor().record(Record(0, 0.0, ran("1.1", output))))
    assert "sk-proj" not in written
    assert "lone ?" in written


def test_a_secret_equal_to_a_field_breaks_nothing():
    observation = Observation("ok", changes=(Change("x", "mutated", "list"),))
    record = Record(0, 0.0, CandidateObserved("1.1", observation))
    assert Redactor(["mutated"]).record(record) == record
    for record in recorded(a_tested_run()):
        assert (
            Redactor(["documentation", "workspace", "replan", "choose"]).record(record).event.kind == record.event.kind
        )


def test_an_unencodable_secret_is_still_a_secret():
    assert Redactor(["key-\udcff-key"]).text("key-\udcff-key") == "[redacted]"


def test_no_two_names_become_one():
    output = shown(application_json={"/home/me/x": 1, "/home/you/x": 2})
    record = Redactor(homes=Homes()).record(Record(0, 0.0, ran("1.1", output)))
    assert record.event.observation.outputs[0]["data"]["application/json"] == {"~/x": 1, "~/x'": 2}


def picture(content):
    return base64.b64encode(b"\x89PNG\r\n" + content).decode()


def test_a_picture_is_not_read_as_text():
    spelt = base64.b64encode(base64.b64decode("AAA/eve/hf+AKIAIOSFODNN7EXAMPLE+") * 4).decode()
    assert "/eve/" in spelt
    kept = picture(b"\0")[:8] + spelt
    record = Record(0, 0.0, ran("1.1", shown(image_png=kept)))
    assert Redactor(homes=Homes(user="eve")).record(record) == record


@pytest.mark.parametrize(
    "text", [b"Author\0hunter2-hunter2", b"Comment\0sk-proj-abc123def456ghi789", b"Source\0/home/maria/x.svg"]
)
def test_a_picture_containing_a_secret_is_dropped(text):
    output = shown(image_png=picture(b"tEXt" + text + b" and more"), text_plain="<Figure>")
    record = Redactor(["hunter2-hunter2"], homes=Homes()).record(Record(0, 0.0, ran("1.1", output)))
    assert record.event.observation.outputs[0]["data"] == {"image/png": "[redacted]", "text/plain": "<Figure>"}
    assert [*sanitize(record.event.observation.outputs)[0]["data"]] == ["text/plain"]


def test_a_fake_picture_is_text():
    output = shown(image_png="AKIAIOSFODNN7EXAMPLE")
    record = Redactor().record(Record(0, 0.0, replace(ran("1.1", output, stream("x")))))
    assert record.event.observation.outputs[0]["data"] == {"image/png": "[redacted]"}


def test_hiding_twice_is_hiding_once():
    for text in PLANTED.values():
        redactor = Redactor(homes=Homes(["/lustre/groups/mariachen-lab"], "mariachen"))
        once = redactor.text(f"a {text} b")
        assert redactor.text(once) == once
        assert Redactor(homes=Homes()).text(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        "sk-",
        "-eyJ",
        "0meyJ",
        "[0meyJ",
        r"\neyJ",
        "/+",
        "0m/home",
        "/home/x",
        "PRIVATE KEY ",
        "://a",
        "/home/",
        "a://",
        "\\",
    ],
)
def test_printed_text_cannot_delay_a_run(piece):
    text = "-----BEGIN " + piece * (400_000 // len(piece)) + " me-me"
    assert Redactor(homes=Homes(["/lustre/x", "/lustre/me-me"], "me-me")).text(text)


def test_long_texts_without_homes_are_read_quickly():
    text = "/home" * 20_000 + "/a.b-c" * 50_000 + "C:\\" * 50_000
    assert re.sub("~", "", Redactor(homes=Homes(["/lustre/x"], "me-me")).text(text))
