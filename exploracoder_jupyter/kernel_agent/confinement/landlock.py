"""Landlock: permanently removes rights to files, TCP and signals from this process and its descendants.

It needs no namespace and no privilege, but can only allow: a path is hidden by not being listed as readable. Up to 16
layers stack, and an access must be allowed by each. See landlock(7); each right is used from the interface version that
introduced it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable

from exploracoder_jupyter.kernel_agent.confinement import syscalls

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_READ_RIGHTS = 0b1101  # execute, read files, list folders
_FILE_RIGHTS = 0b111
_TRUNCATE_RIGHT = 1 << 14
_REFER_SINCE, _TRUNCATE_SINCE, _TCP_SINCE, _SCOPE_SINCE = 2, 3, 4, 6
_BASE_RIGHTS = (1 << 13) - 1
_REFER_RIGHT = 1 << 13
_TCP_RIGHTS = 0b11  # bind, connect
_SCOPES = 0b11  # abstract UNIX sockets, signals


class _Ruleset(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("handled_access_fs", "handled_access_net", "scoped")]


class _PathBeneathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


def version() -> int:
    """Return the version of the interface; 0 if unavailable."""
    return max(0, syscalls.call(_CREATE_RULESET, None, 0, _VERSION))


def restrict(*, readable: Iterable[str], writable: Iterable[str], network: bool) -> None:
    """Allow reading some files and folders, writing others as well, and nothing else; TCP only with `network`.

    Raises OSError if Landlock is unavailable, or there are 16 layers already.
    """
    abi, handled = version(), _BASE_RIGHTS
    for right, since in ((_REFER_RIGHT, _REFER_SINCE), (_TRUNCATE_RIGHT, _TRUNCATE_SINCE)):
        handled |= right if abi >= since else 0
    rules = _Ruleset(
        handled_access_fs=handled,
        handled_access_net=_TCP_RIGHTS if abi >= _TCP_SINCE and not network else 0,
        scoped=_SCOPES if abi >= _SCOPE_SINCE else 0,
    )
    ruleset = syscalls.check_result(
        syscalls.call(_CREATE_RULESET, ctypes.byref(rules), ctypes.sizeof(rules), 0), "create a Landlock ruleset"
    )
    try:
        for path in readable:
            _allow(ruleset, path, _READ_RIGHTS)
        for path in writable:
            _allow(ruleset, path, handled)
        syscalls.forbid_new_privileges()
        syscalls.check_result(syscalls.call(_RESTRICT_SELF, ruleset, 0), "apply Landlock")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # it is gone
        return
    try:
        if not os.path.isdir(f"/proc/self/fd/{descriptor}"):
            rights &= _FILE_RIGHTS | _TRUNCATE_RIGHT
        rule = _PathBeneathRule(allowed_access=rights, parent_fd=descriptor)
        syscalls.check_result(syscalls.call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0), f"allow {path}")
    finally:
        os.close(descriptor)
