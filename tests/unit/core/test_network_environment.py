"""Proxies and certificates that the environment names: which apply, and which are named because they cannot be used."""

import ssl

import pytest

from exploracoder_jupyter.core import network_environment
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.network_environment import certificates, find_proxy

ADDRESS = "https://models.example:8443/v1"
NAMES = [f"{kind}_proxy" for kind in ("http", "https", "all", "no")]


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    for name in (*NAMES, *map(str.upper, NAMES), "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUEST_METHOD"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("variables", "variable", "url"),
    [
        ({"ALL_PROXY": "socks5://p.example:1080"}, "ALL_PROXY", "socks5://p.example:1080"),
        ({"all_proxy": "socks://p.example:1080/"}, "all_proxy", "socks5h://p.example:1080/"),
        ({"ALL_PROXY": "SOCKS5H://me:pw@p.example"}, "ALL_PROXY", "socks5h://me:pw@p.example"),
        ({"HTTPS_PROXY": " http://p.example:3128 ", "ALL_PROXY": "socks4://x"}, "HTTPS_PROXY", "http://p.example:3128"),
        ({"https_proxy": "p.example:3128"}, "https_proxy", "http://p.example:3128"),
    ],
)
def test_the_proxy_for_an_address_is_found(monkeypatch, variables, variable, url):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = find_proxy(ADDRESS)
    assert (found.variable, str(found.url)) == (f"the environment variable {variable}", url)
    assert "pw" not in repr(found)


def test_proxies_for_other_addresses_are_not_read(monkeypatch):
    monkeypatch.setenv("http_proxy", "nonsense://")
    assert find_proxy(ADDRESS) is None


@pytest.mark.parametrize(
    ("address", "excluded"),
    [
        (ADDRESS, "*"),
        (ADDRESS, "a.example, models.example"),
        (ADDRESS, ".example"),
        (ADDRESS, "*.example"),
        (ADDRESS, "models.example:8443"),
        (ADDRESS, "https://models.example"),
        ("http://10.1.2.3:8000/v1", "10.0.0.0/8"),
        ("http://[fd00::1]:8000/v1", "[fd00::1]"),
    ],
)
def test_excluded_hosts_have_no_proxy(monkeypatch, address, excluded):
    monkeypatch.setenv("ALL_PROXY", "socks5://p.example:1080")
    assert find_proxy(address) is not None
    monkeypatch.setenv("NO_PROXY", excluded)
    assert find_proxy(address) is None


@pytest.mark.parametrize("excluded", ["ample", "other.example", "models.example:80", "10.0.0.0/8", ",", "models"])
def test_other_hosts_keep_their_proxy(monkeypatch, excluded):
    monkeypatch.setenv("ALL_PROXY", "socks5://p.example:1080")
    monkeypatch.setenv("NO_PROXY", excluded)
    assert find_proxy(ADDRESS) is not None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("socks4://p.example:1080", "has the scheme 'socks4'"),
        ("ftp://p.example", "has the scheme 'ftp'"),
        ("http://", "is not a valid address"),
        ("http://me:secret@p.example:port", "is not a valid address"),
        ("http://[::1", "is not a valid address"),
        ("http://p.example:99999", "is not a valid address"),
        ("http://p example:80", "is not a valid address"),
        ("socks5://p.example:0", "is not a valid address"),
        ("://", "is not a valid address"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named(monkeypatch, value, reason):
    monkeypatch.setenv("ALL_PROXY", value)
    with pytest.raises(UsageError, match="ALL_PROXY") as caught:
        find_proxy(ADDRESS)
    assert reason in caught.value.message and "NO_PROXY" in caught.value.remedy
    assert "secret" not in str(caught.value)


def test_a_missing_package_for_socks_is_named(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks5://p.example:1080")
    monkeypatch.setattr(network_environment, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="socksio") as caught:
        find_proxy(ADDRESS)
    assert "pip install" in caught.value.remedy


def test_without_variables_the_systems_certificates_count():
    assert certificates(ADDRESS) is True


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("SSL_CERT_FILE", None, "does not exist"),
        ("SSL_CERT_DIR", None, "does not exist"),
        ("SSL_CERT_FILE", "no certificate", "contains no certificate"),
        ("SSL_CERT_FILE", "", "contains no certificate"),
    ],
)
def test_certificates_that_cannot_be_read_are_named(monkeypatch, tmp_path, name, content, reason):
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv(name, str(path))
    with pytest.raises(UsageError, match=name) as caught:
        certificates(ADDRESS)
    assert str(path) in caught.value.message and reason in caught.value.message and caught.value.remedy
    assert certificates("http://models.example") is True


def test_folders_of_certificates_may_be_several(monkeypatch, tmp_path):
    monkeypatch.setenv("SSL_CERT_DIR", f"{tmp_path / 'none'}:{tmp_path}")
    assert isinstance(certificates(ADDRESS), ssl.SSLContext)
