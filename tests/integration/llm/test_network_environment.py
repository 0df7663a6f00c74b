"""Endpoints behind a SOCKS proxy, and with certificates of one's own, as the environment names them."""

import json
import shutil
import socketserver
import ssl
import struct
import subprocess
import threading
from contextlib import contextmanager

import pytest
from pytest_httpserver import HTTPServer

from exploracoder_jupyter import explore
from exploracoder_jupyter.core.configuration.sections import Endpoint
from exploracoder_jupyter.core.configuration.sources import Secrets
from exploracoder_jupyter.core.errors import EndpointError, UsageError
from exploracoder_jupyter.llm.endpoint.discovery import find_endpoints, probe
from exploracoder_jupyter.web.fetching import HttpClient
from tests.integration.command_line import explora
from tests.integration.llm.test_endpoint_faults import CHAT, answers, endpoint, whole

REMOTE = "http://models.example/v1"
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    for name in (*VARIABLES, *map(str.upper, VARIABLES), "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


class Socks(socketserver.StreamRequestHandler):
    """SOCKS 5, as far as a client needs it: it connects every request to `server.target`."""

    def handle(self):
        _, count = self.rfile.read(2)
        methods = self.rfile.read(count)
        if 2 in methods:
            self.wfile.write(b"\x05\x02")
            self.rfile.read(1)
            credentials = [self.rfile.read(self.rfile.read(1)[0]).decode() for _ in range(2)]
            self.server.credentials.append(tuple(credentials))
            self.wfile.write(b"\x01\x00")
        else:
            self.wfile.write(b"\x05\x00")
        _, _, _, kind = self.rfile.read(4)
        assert kind == 3  # a name, which the proxy resolves
        host = self.rfile.read(self.rfile.read(1)[0]).decode()
        [port] = struct.unpack(">H", self.rfile.read(2))
        self.server.asked.append((host, port))
        self.wfile.write(b"\x05\x00\x00\x01" + bytes(6))
        request = self.connection.recv(100_000)
        body = json.dumps(whole("through the proxy") if b"/chat" in request else {"data": [{"id": "m"}]}).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self.wfile.write(head.encode() + body)


@contextmanager
def socks_server():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Socks) as server:
        server.daemon_threads, server.asked, server.credentials = True, [], []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server, server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("scheme", ["socks5", "socks5h", "socks"])
async def test_an_endpoint_is_reached_through_socks(monkeypatch, scheme):
    with socks_server() as (server, port):
        monkeypatch.setenv("ALL_PROXY", f"{scheme}://127.0.0.1:{port}")
        [reply] = await answers(endpoint(REMOTE))
        found = await find_endpoints(Endpoint(base_url=REMOTE), Secrets(), presets={})
    assert reply.text == "through the proxy"
    assert found[0].models == ("m",)
    assert set(server.asked) == {("models.example", 80)}


async def test_a_socks_proxy_is_given_its_password(monkeypatch):
    with socks_server() as (server, port):
        monkeypatch.setenv("HTTP_PROXY", f"socks5://me:p%40ss@127.0.0.1:{port}")
        assert (await probe(Endpoint(base_url=REMOTE, model="m"), Secrets())).reachable
    assert server.credentials == [("me", "p@ss")]


async def test_a_proxy_that_is_down_is_named(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    with pytest.raises(EndpointError, match="cannot be reached") as caught:
        await answers(endpoint(REMOTE, retries=0))
    assert "ALL_PROXY" in caught.value.remedy


@pytest.mark.parametrize("value", ["socks4://127.0.0.1:9", "http://[::1", "socks5://"])
async def test_an_unusable_proxy_is_one_sentence(monkeypatch, value):
    monkeypatch.setenv("ALL_PROXY", value)
    with pytest.raises(UsageError, match="ALL_PROXY"):
        await answers(endpoint(REMOTE))
    found = await probe(endpoint(REMOTE), Secrets())
    assert not found.reachable and "ALL_PROXY" in found.sentence and found.remedy


async def test_a_local_endpoint_needs_no_proxy(monkeypatch, httpserver):
    httpserver.expect_request(CHAT).respond_with_json(whole("x"))
    monkeypatch.setenv("ALL_PROXY", "socks4://[::")
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    assert (await answers(endpoint(httpserver.url_for("/v1"))))[0].text == "x"


@pytest.fixture(scope="module")
def secure_server(tmp_path_factory):
    """A server on this machine whose certificate only its own file proves, and that file."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"]
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*made, *names], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with HTTPServer(host="localhost", ssl_context=context) as server:
        server.expect_request(CHAT).respond_with_json(whole("secure"))
        server.expect_request("/page").respond_with_data("<p>x</p>", content_type="text/html")
        server.expect_request("/robots.txt").respond_with_data("", 404)
        yield server, certificate


async def test_own_certificates_count_on_local_addresses(monkeypatch, secure_server):
    server, certificate = secure_server
    with pytest.raises(EndpointError, match="secure connection"):
        await answers(endpoint(server.url_for("/v1")))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert (await answers(endpoint(server.url_for("/v1"))))[0].text == "secure"


async def test_own_certificates_count_for_web_pages(monkeypatch, secure_server):
    server, certificate = secure_server
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    own = server.url_for("").rstrip("/")
    async with HttpClient() as client:
        assert (await client.get(f"{own}/page", ("text/html",), trusted=own)).text == "<p>x</p>"


async def test_missing_certificates_are_named(monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    with pytest.raises(UsageError, match=r"SSL_CERT_FILE names '/nowhere/ca.pem', which does not exist"):
        await answers(endpoint("https://models.example/v1"))
    with pytest.raises(UsageError, match="SSL_CERT_FILE"):
        HttpClient()


@pytest.mark.parametrize("command", ["run", "setup", "doctor"])
def test_commands_name_an_unusable_proxy(monkeypatch, tmp_path, command):
    monkeypatch.setenv("ALL_PROXY", "socks4://127.0.0.1:9")
    monkeypatch.setenv("EXPLORACODER_BASE_URL", "https://models.example/v1")
    monkeypatch.setenv("EXPLORACODER_MODEL", "m")
    given = {"run": ["-t", "Add", "--library", "json"], "setup": ["--yes"], "doctor": []}[command]
    done = explora(command, *given, folder=tmp_path)
    assert "ALL_PROXY" in done.stdout + done.stderr
    assert done.returncode in (1, 2) and "internal error" not in done.stdout + done.stderr


def test_exploring_names_an_unusable_proxy(monkeypatch, tmp_path):
    monkeypatch.setenv("ALL_PROXY", "socks4://127.0.0.1:9")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EndpointError, match="ALL_PROXY"):
        explore("Add", libraries="json", base_url="https://models.example/v1", model="m")
