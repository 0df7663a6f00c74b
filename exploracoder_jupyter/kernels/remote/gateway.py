"""The HTTP server behind `Sandbox.gateway`: its kernelspecs and the state of its kernels.

Requests use jupyter_server's own gateway client, which is an optional dependency and therefore imported only when a
gateway is opened. That client is configured by a singleton, so a process has one gateway at a time. Every failure of
the server becomes one of our errors, with one sentence; none of them contains the token.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from exploracoder_jupyter.core.errors import KernelError, MissingRequirement, UsageError
from exploracoder_jupyter.core.network_environment import certificates
from exploracoder_jupyter.core.secrets.secret_patterns import has_user_info

if TYPE_CHECKING:
    from jupyter_server.gateway.managers import GatewayKernelManager

TOKEN_VARIABLE: Final = "EXPLORACODER_GATEWAY_TOKEN"

_KERNELS: Final = "/api/kernels"
_CONNECT_SECONDS: Final = 10.0
_UNAUTHORIZED: Final = (401, 403)
_NOT_FOUND: Final = 404


def gateway_token() -> SecretStr | None:
    """Return the gateway token from the environment; it is never a setting and never recorded."""
    token = os.environ.get(TOKEN_VARIABLE)
    return SecretStr(token) if token else None


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """Headers and TLS options for requests to the server: files with certificates, `None` for the system's."""

    headers: dict[str, str] = field(repr=False)
    """Sent with every request; they include the token."""
    verify: bool
    ca: str | None
    certificate: str | None
    key: str | None


@dataclass(frozen=True, slots=True)
class Gateway:
    """A server that answered and has the kernelspec; created by `open_gateway`."""

    url: str
    kernel: str
    """Name of the kernelspec on the server."""
    access: ServerAccess

    @property
    def kernels(self) -> str:
        """URL of its list of kernels."""
        return f"{self.url}{_KERNELS}"

    @property
    def host(self) -> str:
        """Host and port, for messages."""
        return urlsplit(self.url).netloc

    @property
    def is_exposed(self) -> bool:
        """Whether the traffic can be read in transit: unencrypted, to another machine."""
        parts = urlsplit(self.url)
        return parts.scheme == "http" and not _is_loopback(parts.hostname or "")

    async def connect_manager(self, kernel: str) -> GatewayKernelManager:
        """Return the manager of a kernel that was started. Raises KernelError: the server does not confirm that it has
        the kernel."""
        from jupyter_server.gateway.managers import GatewayKernelManager

        manager = GatewayKernelManager()
        manager.kernels_url = self.kernels
        with self._required_answer():
            await manager.start_kernel(kernel_id=kernel)
        if not manager.has_kernel:
            raise KernelError(f"{self.host} does not know the kernel that it just started.")
        return manager

    async def kernel_state(self, manager: GatewayKernelManager) -> str | None:
        """Return the kernel's state on the server (`idle`, `busy`, `dead`, ...); `None` when it no longer exists.
        Raises KernelError: the server does not answer."""
        with self._required_answer():
            model = await manager.refresh_model()
        return None if model is None else str(model.get("execution_state", ""))

    @contextmanager
    def _required_answer(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise KernelError(f"{self.host} does not answer: {_reason(error)}.") from error


async def open_gateway(url: str, *, kernel: str | None, token: SecretStr | None) -> Gateway:
    """Request the server's kernelspecs and choose the wanted one (`None`: the server's default). Raises UsageError:
    `url` is not the address of a server, or contains a credential; MissingRequirement: jupyter-server is not installed;
    the server cannot be reached, refuses the token, or has no such kernelspec."""
    url = _validate_url(url)
    if importlib.util.find_spec("jupyter_server") is None:
        raise MissingRequirement(
            "A gateway needs the package jupyter-server, which is not installed.",
            remedy="Install it: pip install 'exploracoder-jupyter[remote]'.",
        )
    access = _configure(url, token)
    if not access.ca and access.verify:
        certificates(url)
    found = await _kernelspecs(url, has_token=token is not None)
    return Gateway(url, _choose_kernelspec(found, kernel, urlsplit(url).netloc), access)


def _validate_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError("The gateway is not an http:// or https:// address.", remedy="E.g. http://localhost:8888.")
    if has_user_info(parts) or parts.query or parts.fragment:
        raise UsageError(
            "The gateway address contains more than a server and a path, possibly a token.",
            remedy=f"Remove that; put the token into the environment variable {TOKEN_VARIABLE}.",
        )
    return url.rstrip("/")


def _configure(url: str, token: SecretStr | None) -> ServerAccess:
    """Configure jupyter_server's client for the server; certificates and further headers come from the environment."""
    from jupyter_server.gateway.gateway_client import GatewayClient

    for name in ("ServerApp", "tornado.application"):  # they print failures that we report ourselves
        if not logging.getLogger(name).handlers:
            logging.getLogger(name).addHandler(logging.NullHandler())
    GatewayClient.clear_instance()
    client = GatewayClient.instance(
        url=url,
        ws_url=f"ws{url.removeprefix('http')}",  # its default converts the whole path to lower case
        auth_token=token.get_secret_value() if token else "",
        kernels_endpoint=_KERNELS,
        auth_scheme="token",
        auth_header_key="Authorization",
        connect_timeout=_CONNECT_SECONDS,
    )
    headers: dict[str, str] = json.loads(client.headers or "{}")
    if token:
        headers["Authorization"] = f"token {token.get_secret_value()}"
    return ServerAccess(headers, client.validate_cert, client.ca_certs, client.client_cert, client.client_key)


async def _kernelspecs(url: str, *, has_token: bool) -> dict[str, Any]:
    from jupyter_server.gateway.gateway_client import gateway_request

    try:
        answer = json.loads((await gateway_request(f"{url}/api/kernelspecs", method="GET")).body)
        if not isinstance(answer, dict) or not isinstance(answer["kernelspecs"], dict):
            raise KeyError
    except Exception as error:
        host, status = urlsplit(url).netloc, int(getattr(error, "status_code", 0))
        missing = status == _NOT_FOUND and not isinstance(error.__cause__, OSError)
        if isinstance(error, (KeyError, ValueError)) or missing:
            raise MissingRequirement(
                f"{host} does not answer like a Jupyter Server or Kernel Gateway.", remedy="Check the address."
            ) from error
        if status in _UNAUTHORIZED:
            what = "refuses the token" if has_token else "requires a token"
            remedy = f"Set {TOKEN_VARIABLE} to a token of that server."
            raise MissingRequirement(f"{host} {what}.", remedy=remedy) from error
        raise MissingRequirement(
            f"{host} cannot be reached: {_reason(error)}.", remedy="Start it, or check the address and the network."
        ) from error
    return answer


def _choose_kernelspec(found: Mapping[str, Any], kernel: str | None, host: str) -> str:
    specs = found["kernelspecs"]
    name = kernel or str(found.get("default") or "python3")
    installed = ", ".join(sorted(specs)) or "none"
    if name not in specs:
        raise MissingRequirement(f"{host} has no kernel {name!r}.", remedy=f"It has: {installed}.")
    language = str(specs[name].get("spec", {}).get("language", "python"))
    if language.lower() != "python":
        raise MissingRequirement(
            f"The kernel {name!r} at {host} runs {language}, not Python.",
            remedy=f"Choose another with --kernel: {installed}.",
        )
    return name


def _reason(error: Exception) -> str:
    """Return what went wrong, for the user; long sentences of jupyter_server are reduced to the informative part."""
    cause = error.__cause__ or error
    if isinstance(cause, OSError):
        return cause.strerror or type(cause).__name__
    code, message = getattr(cause, "code", None), getattr(cause, "message", None)
    if code is None:
        return str(cause) or type(cause).__name__
    return str(message) if code == 599 else f"status {code}, {message}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
