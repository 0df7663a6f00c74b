"""What a recorded run had reached beyond this machine, and a trace alone must not bring about.

A trace may be anybody's: an address in it would be sent the keys of this account, and code in it let out to the
network. So these settings are in force only where they are set now as well, and what is stricter now stays so.
"""

from __future__ import annotations

from collections.abc import Iterator

from exploracoder_jupyter.config import Layer, Settings
from exploracoder_jupyter.errors import UsageError
from exploracoder_jupyter.models import is_local
from exploracoder_jupyter.models.presets import shown
from exploracoder_jupyter.types import Sharing

_LESS_STRICT: dict[Sharing, tuple[Sharing, ...]] = {"values": (), "schema": ("values",), "none": ("values", "schema")}


def refuse_beyond(recorded: Layer, now: Settings) -> None:
    """Let a recorded layer reach no further than the settings of now do.

    Raises:
        UsageError: it would; the remedy names the options that allow it.
    """
    if flags := " ".join(_flags(recorded, now)):
        raise UsageError(
            "That run reached beyond this machine, which a trace alone does not bring about again.",
            remedy=f"Where you want that, add: {flags}",
        )


def no_looser(recorded: Layer, now: Settings) -> Layer:
    """The recorded layer without what would tell more, or isolate less, than the settings of now."""
    left_out = set()
    if recorded.get("endpoint", {}).get("share") in _LESS_STRICT[now.endpoint.share]:
        left_out.add("share")
    if now.sandbox.isolation == "require":
        left_out.add("isolation")
    return {
        section: {name: value for name, value in values.items() if name not in left_out}
        for section, values in recorded.items()
    }


def _flags(recorded: Layer, now: Settings) -> Iterator[str]:
    endpoint, sandbox, retrieval = (recorded.get(name, {}) for name in ("endpoint", "sandbox", "retrieval"))
    address, present = endpoint.get("base_url"), now.endpoint.base_url
    if isinstance(address, str) and not is_local(address) and address != (present and shown(present)):
        yield f"--base-url {address}"
    gateway = sandbox.get("gateway")
    if isinstance(gateway, str) and gateway != now.sandbox.gateway:
        yield f"--gateway {gateway}"
    if sandbox.get("network") and not now.sandbox.network:
        yield "--network"
    web = retrieval.get("web"), retrieval.get("web_address")
    if web[0] not in (None, "off", "folder") and web != (now.retrieval.web, now.retrieval.web_address):
        yield f"--web {web[1] or web[0]}"
