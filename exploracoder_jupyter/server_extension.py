"""The extension of Jupyter Server: gives pages the kernel side, for kernels whose environment lacks the package.

A page runs `kernel_program()` in such a kernel before a cell that needs the package. The program puts one archive on
the kernel's import path, with the part of the package that needs only ipykernel and what ipykernel needs, and names
this interpreter as that of the engine. So one installation, beside JupyterLab, serves every kernel of this machine.
"""

from __future__ import annotations

import base64
import hashlib
import inspect
import json
import sys
import zipfile
from functools import cache
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exploracoder_jupyter.core.version import __version__

if TYPE_CHECKING:
    from jupyter_server.serverapp import ServerApp

_PACKAGE = "exploracoder_jupyter"
_PARTS = ("core", "ipython_extension", "kernel_agent", "protocol", "text")
"""The folders of the package that the kernel side consists of, as import-linter's contracts have them."""
_METADATA = ("METADATA", "entry_points.txt")
ADDRESS = f"/{_PACKAGE}/kernel-side"


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(app: ServerApp) -> None:
    """Serve the program at `ADDRESS`, to users that the server knows. Called by Jupyter Server."""
    from jupyter_server.base.handlers import APIHandler
    from jupyter_server.utils import url_path_join
    from tornado.web import authenticated

    class KernelSideHandler(APIHandler):  # type: ignore[misc, unused-ignore]
        @authenticated  # type: ignore[misc, unused-ignore]
        def get(self) -> None:
            self.finish(json.dumps({"version": __version__, "python": sys.executable, "program": kernel_program()}))

    address = url_path_join(app.web_app.settings["base_url"], ADDRESS)
    app.web_app.add_handlers(".*$", [(address, KernelSideHandler)])


def kernel_program() -> str:
    """Return the program that loads the extension in a kernel; it leaves no names there.

    It runs in any Python that has f-strings: one that is too old gets a sentence from the extension itself.
    """
    content = archive_content()
    name = f"kernel-side-{__version__}-{hashlib.sha256(content).hexdigest()[:16]}.zip"
    arguments = (name, base64.b64encode(content).decode(), sys.executable)
    source = f"{inspect.getsource(_receive)}\n{_receive.__name__}{arguments!r}"
    return f"exec({source!r}, {{}})"


def _receive(name: str, content: str, python: str) -> None:
    """Load the extension from this archive; runs in the kernel, alone, and in an old Python too."""
    import base64
    import os
    import sys
    import tempfile
    from pathlib import Path

    from IPython import get_ipython
    from IPython.core.error import UsageError
    from platformdirs import user_cache_path

    archive = base64.b64decode(content)
    try:  # at a path that stays: a kernel is killed, so that one of its own would never be removed
        path = user_cache_path("exploracoder_jupyter") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not (path.exists() and path.read_bytes() == archive):
            number, partial = tempfile.mkstemp(dir=path.parent)
            with open(number, "wb") as file:  # noqa: PTH123 - a descriptor
                file.write(archive)
            Path(partial).replace(path)
    except OSError:  # such as a home folder that is read-only
        path = Path(tempfile.mkdtemp(), name)
        path.write_bytes(archive)
    sys.path.append(str(path))
    os.environ.setdefault("EXPLORACODER_ENGINE_PYTHON", python)
    shell = get_ipython()
    try:
        shell.extension_manager.load_extension("exploracoder_jupyter")
    except UsageError as error:
        refusal = error

        def refuse(line: str, cell: str) -> None:
            """Say in the cell itself why it cannot be run here."""
            raise refusal

        shell.register_magic_function(refuse, "cell", "explora")


@cache
def archive_content() -> bytes:
    """Return the archive of the kernel side: the same bytes for the same code."""
    content, package = BytesIO(), Path(__file__).parent
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in [
            package / "__init__.py",
            *(one for part in _PARTS for one in sorted((package / part).rglob("*.py"))),
        ]:
            _add(archive, f"{_PACKAGE}/{file.relative_to(package).as_posix()}", file.read_text(encoding="utf-8"))
        distribution: Any = metadata.distribution(_PACKAGE)
        for name in _METADATA:
            _add(archive, f"{_PACKAGE}-{__version__}.dist-info/{name}", distribution.read_text(name) or "")
    return content.getvalue()


def _add(archive: zipfile.ZipFile, name: str, text: str) -> None:
    archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)  # the time of a ZipInfo is always the same
