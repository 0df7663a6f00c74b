"""What may be fetched and how: private addresses, redirects, limits, politeness, the cache."""

import gzip
import sqlite3
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from threading import Thread
from typing import ClassVar

import anyio
import anyio.to_thread
import pytest

from exploracoder_jupyter.core.http_client import httpx
from exploracoder_jupyter.web.fetching import HttpClient, RateLimiter, WebCache, is_public
from exploracoder_jupyter.web.page_fetcher import PageFetcher
from exploracoder_jupyter.web.reading import MAX_PAGE_BYTES, WebError

PUBLIC = "93.184.215.14"
HTML = {"content-type": "text/html; charset=utf-8"}


class Site:
    """Answers requests by their address as a browser would show it, and notes them."""

    def __init__(self, pages, names=None):
        self.pages = pages
        self.names = names or {}
        self.asked = []
        self.requests = []

    def __call__(self, request):
        host = request.headers["host"]
        address = f"{request.url.scheme}://{host}{request.url.raw_path.decode()}"
        self.asked.append(address)
        self.requests.append(request)
        page = self.pages.get(address, httpx.Response(404))
        if isinstance(page, Exception):
            raise page
        return httpx.Response(200, text=page, headers=HTML) if isinstance(page, str) else page

    async def resolve(self, host, port):
        found = self.names.get(host, [PUBLIC])
        if isinstance(found, Exception):
            raise found
        return found


class Time:
    """A clock that moves by being slept on."""

    def __init__(self):
        self.now = 1000.0
        self.slept = []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.slept.append(round(seconds, 3))
        self.now += seconds


def at_once(time=None, most=100):
    """A pace that takes no time of the test's."""
    time = time or Time()
    return RateLimiter(most, clock=time, sleep=time.sleep)


def http(site, time=None, most=100):
    return HttpClient(rate_limiter=at_once(time, most), transport=httpx.MockTransport(site), resolve=site.resolve)


def moved(to, status=302):
    return httpx.Response(status, headers={"location": to})


async def why(site, address="https://a.example/", **more):
    async with http(site) as client:
        with pytest.raises(WebError) as caught:
            await client.get(address, ("text/html",), **more)
    return str(caught.value)


PRIVATE = """127.0.0.1 127.9.9.9 0.0.0.0 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 224.0.0.1 240.0.0.1
255.255.255.255 192.0.2.1 198.18.0.1 :: ::1 fe80::1 fc00::1 fd00::1 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1
64:ff9b::7f00:1 64:ff9b::a00:1 2002:7f00:1:: 2001:db8::1""".split()  # noqa: SIM905


@pytest.mark.parametrize("address", PRIVATE)
async def test_private_addresses_are_refused_by_whatever_name(address):
    assert not is_public(ip_address(address))
    site = Site({}, {"innocent.example": [PUBLIC, address]})
    assert "private network" in await why(site, "https://innocent.example/")
    assert site.asked == []


@pytest.mark.parametrize("address", [PUBLIC, "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"])
def test_public_addresses_are_public(address):
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("file:///etc/passwd", "not an HTTP or HTTPS URL"),
        ("https://[::1", "not an HTTP or HTTPS URL"),
        ("https://a.example:99999/", "not an HTTP or HTTPS URL"),
        ("https://user:secret@a.example/", "name or a password"),
        ("https://a.example:8080/", "non-default port"),
        ("https://a.example/" + "x" * 3000, "not an HTTP or HTTPS URL"),
    ],
)
async def test_only_plain_web_addresses_are_fetched(address, reason):
    site = Site({})
    assert reason in await why(site, address)
    assert site.asked == []


@pytest.mark.parametrize(
    ("to", "reason"),
    [
        *((to, "") for to in ("file:///etc/passwd", "https://[::1", "https://u:p@a.example/", "javascript:x", "\x00")),
        ("http://inner.example/admin", "private network"),
    ],
)
async def test_a_redirect_leads_to_plain_public_addresses_only(to, reason):
    site = Site({"https://a.example/": moved(to)}, {"inner.example": ["10.0.0.7"]})
    assert reason in await why(site)
    assert set(site.asked) == {"https://a.example/"}


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "2130706433", "0x7f.1", "[::1]"])
async def test_this_machine_is_refused_by_the_real_resolver(host):
    async with HttpClient(transport=httpx.MockTransport(Site({}))) as client:
        with pytest.raises(WebError, match=r"private network|not known|not an HTTP"):
            await client.get(f"http://{host}/", ("text/html",))


async def test_the_connection_uses_the_checked_address():
    site = Site({"https://a.example/x?y=1": "hello"})
    async with http(site) as client:
        answer = await client.get("https://a.example/x?y=1", ("text/html",))
    [request] = site.requests
    assert answer.text == "hello"
    assert (request.url.host, request.headers["host"]) == (PUBLIC, "a.example")
    assert request.extensions["sni_hostname"] == "a.example"


async def test_another_address_of_a_host_is_tried():
    tried = []

    def handle(request):
        tried.append(request.url.host)
        if request.url.host != "1.1.1.1":
            raise httpx.ConnectError("no route")
        return httpx.Response(200, text="hello", headers=HTML)

    site = Site({}, {"a.example": ["2606:4700::1111", "1.0.0.1", "1.1.1.1"]})
    async with HttpClient(transport=httpx.MockTransport(handle), resolve=site.resolve) as client:
        assert (await client.get("https://a.example/", ("text/html",))).text == "hello"
    assert tried == ["1.0.0.1", "1.1.1.1"]


async def test_redirects_are_followed_a_few_times():
    pages = {f"https://a.example/{at}": moved(f"/{at + 1}") for at in range(9)}
    assert "redirected too many times" in await why(Site(pages), "https://a.example/0")
    pages["https://a.example/5"] = "there"
    async with http(Site(pages)) as client:
        answer = await client.get("https://a.example/0", ("text/html",))
    assert (answer.address, answer.text) == ("https://a.example/5", "there")


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (httpx.Response(404), "a.example responded with status 404."),
        (httpx.Response(200, content=b"%PDF", headers={"content-type": "application/pdf"}), "did not return text"),
        (httpx.Response(200, content=b"x"), "did not return text (no content type)"),
        (httpx.Response(200, content=b"x" * (MAX_PAGE_BYTES + 1), headers=HTML), "returned more than 2 MB"),
        (
            httpx.Response(
                200, content=gzip.compress(b"x" * (MAX_PAGE_BYTES + 1)), headers={**HTML, "content-encoding": "gzip"}
            ),
            "returned more than 2 MB",
        ),
        (
            httpx.Response(
                200,
                content=gzip.compress(gzip.compress(b"x")),
                headers={**HTML, "content-encoding": "gzip, gzip"},
            ),
            "compressed more than once",
        ),
        (httpx.ReadTimeout("slow"), "could not be reached (ReadTimeout)"),
        (moved("/"), "redirected too many times"),
    ],
)
async def test_what_cannot_be_had_is_one_sentence(response, reason):
    assert reason in await why(Site({"https://a.example/": response}))


async def test_nothing_of_the_user_goes_along(monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine a.example login me password secret")
    monkeypatch.setenv("NETRC", str(netrc))
    cookie = {**HTML, "set-cookie": "id=7; Path=/"}
    site = Site({"https://a.example/": httpx.Response(200, text="x", headers=cookie), "https://a.example/2": "y"})
    async with http(site) as client:
        for path in ("", "2"):
            await client.get(f"https://a.example/{path}", ("text/html",))
    for request in site.requests:
        assert not {"cookie", "authorization", "referer"} & set(request.headers)
        assert request.headers["user-agent"].startswith("exploracoder-jupyter/")


@pytest.mark.parametrize(
    ("body", "headers", "text"),
    [
        ("ä".encode("latin-1"), {"content-type": "text/html; charset=iso-8859-1"}, "ä"),
        (
            '<meta charset="windows-1252">ä'.encode("cp1252"),
            {"content-type": "text/html"},
            '<meta charset="windows-1252">ä',
        ),
        ("ä".encode(), {"content-type": "text/html; charset=punycode"}, "ä"),
        ("ä".encode(), {"content-type": "text/html; charset=no-such-one"}, "ä"),
        (b"\xff\xfe", {"content-type": "text/html"}, "\ufffd\ufffd"),
    ],
)
async def test_text_is_decoded_by_known_charsets(body, headers, text):
    site = Site({"https://a.example/": httpx.Response(200, content=body, headers=headers)})
    async with http(site) as client:
        assert (await client.get("https://a.example/", ("text/html",))).text == text


async def test_a_host_is_asked_once_a_second():
    time = Time()
    site = Site({f"https://{host}.example/": "x" for host in "ab"})
    async with http(site, time) as client:
        for host in "aaba":
            await client.get(f"https://{host}.example/", ("text/html",))
    assert time.slept == [1.0, 1.0]


async def test_a_run_makes_so_many_requests():
    site = Site({"https://a.example/": "x"})
    async with http(site, most=2) as client:
        for _ in range(2):
            await client.get("https://a.example/", ("text/html",))
        with pytest.raises(WebError, match="limit of web requests"):
            await client.get("https://a.example/", ("text/html",))
    assert len(site.asked) == 2


@pytest.mark.parametrize("status", [429, 503])
async def test_a_host_that_wants_rest_gets_it(status):
    site = Site({"https://a.example/": httpx.Response(status), "https://b.example/": "x"})
    async with http(site) as client:
        for _ in range(2):
            with pytest.raises(WebError):
                await client.get("https://a.example/", ("text/html",))
        await client.get("https://b.example/", ("text/html",))
    assert site.asked == ["https://a.example/", "https://b.example/"]


def reader(client, tmp_path, **more):
    return PageFetcher(client, WebCache(tmp_path), **more)


async def test_a_page_is_read_where_robots_may(tmp_path):
    pages = {"https://a.example/robots.txt": "User-agent: *\nDisallow: /no", "https://a.example/yes": "<p>x</p>"}
    site = Site({**pages, "https://a.example/go": moved("/no")})
    async with http(site) as client:
        page = await reader(client, tmp_path).read("https://a.example/yes#part")
        assert (page.address, page.form, page.text) == ("https://a.example/yes", "html", "<p>x</p>")
        assert await reader(client, tmp_path).read("https://a.example/yes") == page
        for refused in ("no", "go"):
            with pytest.raises(WebError, match="disallows robots"):
                await reader(client, tmp_path).read(f"https://a.example/{refused}")
    assert site.asked.count("https://a.example/yes") == 1
    assert "https://a.example/no" not in site.asked


@pytest.mark.parametrize(("robots", "read"), [(404, True), (403, True), (500, False), (429, False)])
async def test_robots_that_cannot_be_had(robots, read, tmp_path):
    site = Site({"https://a.example/robots.txt": httpx.Response(robots), "https://a.example/x": "x"})
    async with http(site) as client:
        with nullcontext() if read else pytest.raises(WebError):
            assert (await reader(client, tmp_path).read("https://a.example/x")).text == "x"


API = "https://api.stackexchange.com/2.3/questions/5"
QUESTION = f"{API}?site=stackoverflow&filter=withbody"
ANSWERS = f"{API}/answers?site=stackoverflow&filter=withbody&order=desc&sort=votes&pagesize=10"
THREAD = "https://stackoverflow.com/questions/5/how"


async def test_questions_come_from_the_api_within_limits(tmp_path):
    time = Time()
    site = Site(
        {
            QUESTION: httpx.Response(200, json={"items": [{"title": "How?", "body": "<p>q</p>"}], "backoff": 7}),
            ANSWERS: httpx.Response(200, json={"items": [{"body": "<p>a</p>", "answer_id": 9}]}),
        }
    )
    async with http(site, time) as client:
        page = await reader(client, tmp_path).read(THREAD)
    assert page.form == "questions" and '"answer_id":9' in page.text
    assert site.asked == [QUESTION, ANSWERS] and time.slept == [7.0]


@pytest.mark.parametrize("answer", [{"items": []}, {"items": 5}, {"error_id": 502}])
async def test_without_the_api_the_page_is_read(answer, tmp_path):
    page = "<div id=question>q</div>"
    site = Site({QUESTION: httpx.Response(200, json=answer), ANSWERS: httpx.Response(200, json=answer), THREAD: page})
    async with http(site) as client:
        assert (await reader(client, tmp_path).read(THREAD)).text == page


async def test_only_the_users_own_site_may_be_private(httpserver, tmp_path, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")  # nothing listens there
    httpserver.expect_request("/robots.txt").respond_with_data("", 404)
    httpserver.expect_request("/page").respond_with_data("<p>x</p>", content_type="text/html")
    httpserver.expect_request("/away").respond_with_data("", 302, {"location": "http://localhost:1/"})
    own = httpserver.url_for("").rstrip("/").replace("127.0.0.1", "localhost")
    async with HttpClient(rate_limiter=at_once()) as client:
        page = await reader(client, tmp_path, trusted=own).read(f"{own}/page")
        assert page.text == "<p>x</p>"
        with pytest.raises(WebError, match="non-default port"):
            await reader(client, tmp_path, trusted=own).read(f"{own}/away")
        with pytest.raises(WebError, match="name or a password"):
            await reader(client, tmp_path, trusted=own).read(f"{own}/page".replace("//", "//me:secret@"))
        with pytest.raises(WebError):
            await reader(client, tmp_path / "other").read(f"{own}/page")


class KeepingAlive(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    ports: ClassVar[set[int]] = set()

    def do_GET(self):
        self.ports.add(self.client_address[1])
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


async def test_a_connection_serves_one_request():
    server = ThreadingHTTPServer(("127.0.0.1", 0), KeepingAlive)
    own = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    async with HttpClient(rate_limiter=at_once()) as client:
        for _ in range(2):
            await client.get(f"{own}/", ("text/html",), trusted=own)
    await anyio.to_thread.run_sync(server.shutdown)
    server.server_close()
    assert len(KeepingAlive.ports) == 2


def test_what_is_kept_grows_old_and_is_bounded(tmp_path, monkeypatch):
    time = Time()
    cache = WebCache(tmp_path, clock=time)
    cache.put("text \ud800", "page", "a")
    assert cache.get("page", "a") == "text ?"
    assert cache.get("page", "b") is cache.get("page a") is None
    time.now += 8 * 86_400
    assert cache.get("page", "a") is None
    monkeypatch.setattr("exploracoder_jupyter.web.fetching._MAX_ENTRIES", 3)
    for at in range(5):
        time.now += 1
        cache.put("x", str(at))
    assert [at for at in range(5) if cache.get(str(at))] == [2, 3, 4]
    with sqlite3.connect(tmp_path / "web.sqlite") as db:
        assert db.execute("SELECT count(*) FROM kept").fetchone() == (3,)
    db.close()


def test_a_cache_that_cannot_be_used_is_none(tmp_path):
    (tmp_path / "web.sqlite").write_bytes(b"no database" * 100)
    broken = WebCache(tmp_path)
    assert broken.get("x") is None
    broken.put("y", "x")
    assert broken.get("x") == "y"  # it was replaced
    (tmp_path / "file").write_text("")
    nowhere = WebCache(tmp_path / "file" / "folder")
    nowhere.put("y", "x")
    assert nowhere.get("x") is None
