"""The web as a source: queries to search engines, their results, and the messages to the user."""

import inspect
import json
import re
import sys
from contextlib import AsyncExitStack
from functools import partial
from types import ModuleType

import anyio
import pytest

from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.sources import resolve
from exploracoder_jupyter.core.errors import MissingRequirement, UsageError
from exploracoder_jupyter.core.http_client import httpx
from exploracoder_jupyter.runs.factories import SourceContext, open_web_source
from exploracoder_jupyter.runs.knowledge_factory import cache_folder
from exploracoder_jupyter.web.fetching import HttpClient, WebCache
from exploracoder_jupyter.web.page_fetcher import PageFetcher
from exploracoder_jupyter.web.reading import Page, SearchHit, WebError
from exploracoder_jupyter.web.search import sanitize_query, search_by_template, search_duckduckgo, search_searxng
from exploracoder_jupyter.web.web_source import WebSource
from tests.unit.web.test_fetching import Site, at_once, http

NO_MORE = "Searching the web failed 2 times in a row; it is disabled for this run."
SQUEEZE = "Call squeeze on the array and the axes of length one are gone, as everybody has long known."
INTRO = f"<h1>Intro</h1><p>{'Nothing of interest. ' * 9}</p>"
HTML = f"<title>Axes</title><main>{INTRO}<h2 id=s>Drop</h2><p>{SQUEEZE}</p></main>"


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("drop axes\n of  `length` one", "drop axes of length one"),
        ("ratio a/b of km/h, np.add / np.sum", "ratio a/b of km/h, np.add / np.sum"),
        ("open /home/ann/data.csv with pandas", "open with pandas"),
        (r"open C:\Users\ann\data.csv with pandas", "open with pandas"),
        ("get https://me:pw@db.example/x?token=1 as json", "get as json"),
        ("mail ann.b@corp.example about tax", "mail about tax"),
        ("login password=hunter2 to imap", "login to imap"),
        ("login(user=me,client_secret=hunter2,port=1) to imap", "login(user=me, to imap"),
        ("send private_key: 'abc def' as token_ids=3", "send as token_ids=3"),
        ("set API_KEY: 'abc def' in os.environ", "set in os.environ"),
        ("Authorization: Bearer abc.def-123 header", "header"),
        ("use sk-proj1234567890abcdefghij now", "use now"),
        ("hash 9f86d081884c7d659a2feaa0c55ad015 of", "hash of"),
        ("card 4111 1111 1111 1111 check digit", "card check digit"),
        ("ping 10.1.2.3 in python", "ping in python"),
        ("scipy.sparse.linalg.eigsh eigenvalues 1e-6", "scipy.sparse.linalg.eigsh eigenvalues 1e-6"),
        (" ... ", ""),
        ("x" * 300, ""),
        ("word " * 1000, " ".join(["word"] * 40)),
    ],
)
def test_a_query_is_sent_without_what_is_private(query, sent):
    assert sanitize_query(query) == sent


async def test_searxng_is_asked_at_the_users_address(httpserver):
    results = [
        {"url": "https://a.example/1", "title": "One", "content": "first"},
        {"url": "javascript:x", "title": "No"},
    ]
    httpserver.expect_request("/search", query_string={"q": "drop axes & c", "format": "json"}).respond_with_json(
        {"query": "x", "results": results, "answers": []}
    )
    async with HttpClient(rate_limiter=at_once()) as client:
        for address in (httpserver.url_for(""), httpserver.url_for("/search")):
            assert await search_searxng("drop axes & c", 5, http=client, address=address) == [
                SearchHit("One", "https://a.example/1", "first")
            ]


def json_of(value):
    return httpx.Response(200, json=value)


RTD = {"results": [{"title": "Squeeze", "domain": "https://x.readthedocs.io", "path": "/en/latest/s.html"}]}
STACK = {
    "items": [
        {"owner": {"display_name": "A", "link": "https://so.example/u"}, "title": "Q", "link": "https://so.example/q"}
    ]
}
LINKS = """<header><a href="/login">Log in here</a></header><main><h3><a href="/docs/one">One page</a></h3>
<p>about <a href="/other">something else</a></p><h3><a href="//duck.example/l/?uddg=https%3A%2F%2Fb.example%2Ftwo">
Two pages</a></h3><h3><a href="/find?q=drop+axes&page=2">Next results</a></h3>
<h3><a href="javascript:x()">Run this</a></h3>
<h3><a href="/docs/one">One page</a></h3></main>"""


@pytest.mark.parametrize(
    ("answer", "hits"),
    [
        (json_of(RTD), [SearchHit("Squeeze", "https://x.readthedocs.io/en/latest/s.html")]),
        (json_of(STACK), [SearchHit("Q", "https://so.example/q")]),
        (json_of([{"name": "N", "href": "/rel", "body": "b"}]), [SearchHit("N", "https://docs.example/rel", "b")]),
        (json_of("nothing"), []),
        (
            LINKS,
            [SearchHit("One page", "https://docs.example/docs/one"), SearchHit("Two pages", "https://b.example/two")],
        ),
        ("<p><a href='/plain'>A plain link</a></p>", [SearchHit("A plain link", "https://docs.example/plain")]),
    ],
)
async def test_any_site_is_searched_by_its_address(answer, hits):
    site = Site({"https://docs.example/find?q=drop+axes%26": answer})
    async with http(site) as client:
        assert (
            await search_by_template("drop axes&", 5, http=client, template="https://docs.example/find?q={query}")
            == hits
        )


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (httpx.Response(403), "searx.example responded with status 403. Its settings must list `json`"),
        (httpx.Response(200, content=b"{", headers={"content-type": "application/json"}), "did not return JSON"),
    ],
)
async def test_an_answer_that_is_no_json_is_reported(answer, message):
    async with http(Site({"https://searx.example/search?q=x&format=json": answer})) as client:
        with pytest.raises(WebError, match=re.escape(message)):
            await search_searxng("x", 5, http=client, address="https://searx.example/")


def fake_ddgs(monkeypatch, found, engines=("duckduckgo", "bing")):
    asked = []

    class DDGS:
        def __init__(self, **options):
            pass

        def text(self, query, **options):
            asked.append((query, options))
            if isinstance(found, Exception):
                raise found
            return found

    package, names = ModuleType("ddgs"), ModuleType("ddgs.engines")
    package.DDGS, names.ENGINES = DDGS, {"text": dict.fromkeys(engines)}
    monkeypatch.setitem(sys.modules, "ddgs", package)
    monkeypatch.setitem(sys.modules, "ddgs.engines", names)
    return asked


async def test_duckduckgo_and_no_other_engine_is_asked(monkeypatch):
    found = [{"title": "T", "href": "https://a.example/", "body": "B"}, {"title": "no address"}]
    asked = fake_ddgs(monkeypatch, found)
    assert await search_duckduckgo("x", 5) == [SearchHit("T", "https://a.example/", "B")]
    assert asked == [("x", {"max_results": 5, "backend": "duckduckgo"})]
    fake_ddgs(monkeypatch, found, engines=("bing",))
    with pytest.raises(WebError, match="cannot search DuckDuckGo"):
        await search_duckduckgo("x", 5)


async def test_what_ddgs_raises_is_a_sentence(monkeypatch):
    fake_ddgs(monkeypatch, RuntimeError("No results found."))
    assert await search_duckduckgo("x", 5) == []
    fake_ddgs(monkeypatch, RuntimeError("202 Ratelimit"))
    with pytest.raises(WebError, match=r"Searching DuckDuckGo failed \(RuntimeError\)"):
        await search_duckduckgo("x", 5)


async def test_an_unimportable_ddgs_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "ddgs", None)
    with pytest.raises(WebError, match=r"pip install -U 'exploracoder-jupyter\[web\]'"):
        await search_duckduckgo("x", 5)


def test_the_installed_ddgs_takes_what_it_is_given():
    from ddgs import DDGS
    from ddgs.engines import ENGINES

    assert "duckduckgo" in ENGINES["text"]
    inspect.signature(DDGS).bind(timeout=15)
    assert {"max_results", "backend"} <= set(inspect.signature(DDGS._search_sync).parameters)


class Engine:
    """A search engine with fixed hits that notes what it was asked."""

    def __init__(self, *hits):
        self.hits = hits
        self.asked = []

    async def find(self, query, most):
        self.asked.append(query)
        if isinstance(self.hits[0], Exception):
            raise self.hits[0]
        return [hit for hit in self.hits if hit]


class Shelf:
    """Pages by their addresses."""

    def __init__(self, pages):
        self.pages = pages
        self.read_of = []

    async def read(self, address):
        self.read_of.append(address)
        page = self.pages.get(address)
        if page is None:
            raise WebError("There is none.")
        return Page(address, "html", page)


def source(engine, pages, tmp_path, **more):
    messages, shelf = [], Shelf(pages)
    made = WebSource(engine.find, shelf.read, WebCache(tmp_path), name="test", say=messages.append, **more)
    return made, messages


def hit(at, summary=""):
    return SearchHit(f"Hit {at}", f"https://{at}.example/", summary)


async def test_a_page_yields_the_relevant_sections(tmp_path):
    web, messages = source(
        Engine(hit("a"), hit("b")), {"https://a.example/": HTML, "https://b.example/": HTML}, tmp_path
    )
    found = await web.search("squeeze the axes", 3)
    assert [item.passage.origin for item in found] == ["https://a.example/#s"]
    passage = found[0].passage
    assert (passage.source, passage.title, passage.text, passage.code) == ("web", "Axes: Drop", SQUEEZE, False)
    assert web.kind == "web" and messages == []


async def test_an_unreadable_page_gives_way_to_others(tmp_path):
    engine = Engine(*map(hit, "abcd"))
    web, messages = source(engine, {"https://b.example/": "<p>too short</p>", "https://c.example/": HTML}, tmp_path)
    [item] = await web.search("squeeze", 5)
    assert item.passage.origin.startswith("https://c.example/")
    web, messages = source(engine, {"https://d.example/": HTML}, tmp_path / "other")
    assert await web.search("squeeze", 5) == []
    assert web._read.__self__.read_of == ["https://a.example/", "https://b.example/", "https://c.example/"]
    assert messages == []


async def test_without_readable_pages_the_engines_summary_counts(tmp_path):
    web, _ = source(Engine(hit("a", "use\u200b squeeze"), hit("b")), {}, tmp_path)
    [item] = await web.search("squeeze", 5)
    assert item.passage.text == "use squeeze" and item.passage.origin == "https://a.example/"
    assert "as the search engine shows it" in item.passage.title


async def test_title_and_licence_are_one_line(tmp_path):
    head = f"<title>Axes\u200b\n{'x' * 500}</title><a rel=license>CC0\u202e {'y' * 500}</a>"
    page = f"{head}<main><h2 id='do this now'>Drop</h2><p>{SQUEEZE * 3}</p></main>"
    web, _ = source(Engine(hit("a")), {"https://a.example/": page}, tmp_path)
    [item] = await web.search("squeeze", 5)
    assert item.passage.title == f"Axes {'x' * 115}: Drop" and len(item.passage.licence) <= 120
    assert item.passage.licence.startswith("CC0 yyy") and item.passage.origin == "https://a.example/"


async def test_a_slow_page_gives_way_to_the_summary(monkeypatch):
    monkeypatch.setattr("exploracoder_jupyter.web.web_source._SECONDS", 0.2)
    engine, shelf, messages = Engine(hit("a", "use squeeze")), Shelf({}), []
    shelf.read = lambda address: anyio.sleep(60)
    web = WebSource(lambda *query: engine.find(*query), shelf.read, None, name="test", say=messages.append)
    assert [item.passage.text for item in await web.search("squeeze", 5)] == ["use squeeze"]
    engine.find = lambda query, most: anyio.sleep(60)
    assert await web.search("axes", 5) == ()
    assert messages == ["Searching the web timed out after 0.2 s."]


async def test_only_sharable_text_reaches_the_engine(tmp_path):
    engine = Engine(hit("a"))
    web, _ = source(engine, {}, tmp_path, clean=lambda text: text.replace("tiger", ""))
    await web.search("squeeze tiger /home/ann/x.csv", 5)
    assert engine.asked == ["squeeze"]
    assert await web.search("tiger", 5) == ()
    assert engine.asked == ["squeeze"]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (WebError("The engine wants fewer requests."), "The engine wants fewer requests."),
        (ZeroDivisionError(), "The web search failed (ZeroDivisionError)."),
    ],
)
async def test_failures_are_reported_once_and_end_the_searches(error, message, tmp_path):
    engine = Engine(error)
    web, messages = source(engine, {}, tmp_path)
    for query in "abcd":
        assert await web.search(query, 5) in ((), [])
    assert messages == [message, NO_MORE]
    assert engine.asked == ["a", "b"]


async def open_web(retrieval, folder, emit, stack):
    """The web source of a run with these settings in this folder."""
    return await open_web_source(
        SourceContext(Settings(retrieval=retrieval), folder, None, knowledge=None, clean=str, emit=emit, stack=stack)
    )


async def opened(settings, tmp_path):
    events = []
    async with AsyncExitStack() as stack:
        source = await open_web(settings, tmp_path, events.append, stack)
    return source, [event.text for event in events]


@pytest.mark.parametrize(
    ("where", "destination"),
    [
        ("ddgs", "are sent to DuckDuckGo."),
        ("https://searx.example:8888/", "are sent to searx.example, which asks other search engines."),
        ("https://docs.example/?key={key}&q={query}", "are sent to docs.example."),
    ],
)
async def test_a_message_says_where_queries_go(where, destination, tmp_path):
    settings = resolve({"retrieval": {"web": where}}).retrieval
    source, [text] = await opened(settings, tmp_path)
    assert source.kind == "web" and destination in text


@pytest.mark.parametrize(("missing", "where"), [("ddgs", "ddgs"), ("lxml", "https://searx.example")])
async def test_a_missing_package_is_reported_at_the_start(missing, where, tmp_path, monkeypatch):
    monkeypatch.setattr("exploracoder_jupyter.runs.factories.find_spec", lambda name: name != missing or None)
    with pytest.raises(MissingRequirement, match=f"needs the package {missing}") as caught:
        await opened(resolve({"retrieval": {"web": where}}).retrieval, tmp_path)
    assert "pip install 'exploracoder-jupyter[web]'" in str(caught.value)


async def test_a_key_appears_only_in_the_address(tmp_path, monkeypatch, httpserver):
    monkeypatch.setenv("EXPLORACODER_WEB_KEY", "tiger-secret")
    asked = httpserver.expect_request("/find", query_string={"key": "tiger-secret", "q": "squeeze"})
    asked.respond_with_json([{"title": "T", "url": "https://127.0.0.1/", "snippet": "use squeeze"}])
    address = httpserver.url_for("/find") + "?key={key}&q={query}"
    settings = resolve({"retrieval": {"web": address}}).retrieval
    assert "tiger" not in str(settings)
    events = []
    async with AsyncExitStack() as stack:
        source = await open_web(settings, tmp_path, events.append, stack)
        [item] = await source.search("squeeze", 1)
    assert item.passage.text == "use squeeze"
    assert "tiger" not in json.dumps([event.text for event in events])
    assert b"tiger" not in (cache_folder() / "web.sqlite").read_bytes()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"web": "searxng"}, "Web search with searxng needs the setting 'retrieval.web_address'."),
        ({"web": "saved/pages"}, "The web cannot be searched with 'saved/pages'."),
        ({"web": "url", "web_address": "ftp://x/{query}"}, "is not an http or https URL."),
        ({"web": "searxng", "web_address": "http://[x"}, "is not an http or https URL."),
        ({"web": "http://:80"}, "is not an http or https URL."),
        ({"web": "https://me:tiger@searx.example"}, "contains a user name or password."),
        ({"web": "url", "web_address": "https://x.example/"}, "has no {query} placeholder."),
        ({"web": "https://{query}.example/"}, "has no {query} placeholder."),
        ({"web": 5}, "The setting 'retrieval.web' (--web) must be"),
    ],
)
def test_an_unusable_place_is_one_early_sentence(settings, sentence):
    with pytest.raises(UsageError) as caught:
        resolve({"retrieval": settings})
    assert sentence in caught.value.message and "tiger" not in str(caught.value)


async def test_a_query_leads_to_passages(tmp_path):
    body = f"<p>{SQUEEZE}</p><pre><code>np.squeeze(x)</code></pre>"
    api = "https://api.stackexchange.com/2.3/questions/5"
    form = "site=stackoverflow&filter=withbody"
    answer = {"body": body, "answer_id": 9, "owner": {"display_name": "Ann"}, "content_license": "CC BY-SA 4.0"}
    results = {"results": [{"title": "How?", "url": "https://stackoverflow.com/questions/5/how", "content": "c"}]}
    site = Site(
        {
            "https://searx.example/search?q=squeeze&format=json": json_of(results),
            f"{api}?{form}": json_of({"items": [{"title": "How?", "body": "<p>How do I?</p>"}]}),
            f"{api}/answers?{form}&order=desc&sort=votes&pagesize=10": json_of({"items": [answer]}),
        }
    )
    async with http(site) as client:
        cache = WebCache(tmp_path)
        engine = partial(search_searxng, http=client, address="https://searx.example")
        web = WebSource(engine, PageFetcher(client, cache).read, cache, name="s", say=pytest.fail)
        first, second = [item.passage for item in await web.search("squeeze", 5)]
    assert first.text == f"{SQUEEZE}\n\n```\nnp.squeeze(x)\n```"
    assert (first.origin, first.licence) == ("https://stackoverflow.com/a/9", "CC BY-SA 4.0, by Ann")
    assert second.text == "How do I?"


async def test_a_run_searches_so_many_times(tmp_path):
    engine = Engine(hit("a"))
    web, messages = source(engine, {}, tmp_path)
    for at in range(25):
        await web.search(f"query {at}", 5)
    assert len(engine.asked) == 20
    assert messages == ["The web was searched 20 times in this run, which is the limit."]


async def test_an_abandoned_search_is_not_a_failure(tmp_path):
    engine, messages, shelf = Engine(hit("a")), [], Shelf({"https://a.example/": HTML})
    web = WebSource(lambda *query: engine.find(*query), shelf.read, None, name="test", say=messages.append)
    usual, engine.find = engine.find, lambda query, most: anyio.sleep(60)
    for query in "ab":
        with anyio.move_on_after(0.05):
            await web.search(query, 5)
    engine.find = usual
    assert len(await web.search("squeeze", 5)) == 1 and messages == []
