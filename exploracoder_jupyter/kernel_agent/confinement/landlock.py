"""Landlock: takes rights to files, TCP and signals away from this process and all that it starts, for good.

It needs no namespace and no privilege, but can only allow: what is to be hidden is what is not listed as readable. Up
to 16 layers lie over one another, each of which must allow what the next one is to have. See landlock(7); each right
is used from the version of the interface that has it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable

from exploracoder_jupyter.kernel_agent.confinement import syscalls

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_READ = 0b1101  # execute, read files, list folders
_FILE_RIGHTS = 0b111
_TRUNCATE = 1 << 14
_REFER_SINCE, _TRUNCATE_SINCE, _TCP_SINCE, _SCOPE_SINCE = 2, 3, 4, 6
_BASE = (1 << 13) - 1
_REFER = 1 << 13
_TCP = 0b11  # bind, connect
_SCOPES = 0b11  # abstract UNIX sockets, signals


class _Ruleset(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("handled_access_fs", "handled_access_net", "scoped")]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


def version() -> int:
    """Of the interface; 0 where there is none."""
    return max(0, syscalls.call(_CREATE_RULESET, None, 0, _VERSION))


def restrict(*, readable: Iterable[str], writable: Iterable[str], network: bool) -> None:
    """Allow these files and folders to be read, those also to be written, and nothing else; TCP only with `network`.

    Raises:
        OSError: there is no Landlock, or there are 16 layers already.
    """
    abi = version()
    handled = _BASE | (_REFER if abi >= _REFER_SINCE else 0) | (_TRUNCATE if abi >= _TRUNCATE_SINCE else 0)
    rules = _Ruleset(
        handled_access_fs=handled,
        handled_access_net=_TCP if abi >= _TCP_SINCE and not network else 0,
        scoped=_SCOPES if abi >= _SCOPE_SINCE else 0,
    )
    ruleset = syscalls.checked(
        syscalls.call(_CREATE_RULESET, ctypes.byref(rules), ctypes.sizeof(rules), 0), "create a Landlock ruleset"
    )
    try:
        for path in readable:
            _allow(ruleset, path, _READ)
        for path in writable:
            _allow(ruleset, path, handled)
        syscalls.forbid_new_privileges()
        syscalls.checked(syscalls.call(_RESTRICT_SELF, ruleset, 0), "apply Landlock")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # it is gone
        return
    try:
        if not os.path.isdir(f"/proc/self/fd/{place}"):
            rights &= _FILE_RIGHTS | _TRUNCATE
        rule = _Beneath(allowed_access=rights, parent_fd=place)
        syscalls.checked(syscalls.call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0), f"allow {path}")
    finally:
        os.close(place)
