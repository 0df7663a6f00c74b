"""The tools that a Jupyter Server with `jupyter_server_mcp` offers to the agents in its own chat (jupyter-ai).

They run in the server's process, behind a port without a token: so they read libraries, and nothing of the user's.
"""

from __future__ import annotations

from exploracoder_jupyter.agent_tools.tool_limits import DEFAULT_TOKENS, fitting_json

TOOLS = [f"{__name__}:explora_{name}" for name in ("find_packages", "search_apis", "read_api")]
"""Registered in the entry points `jupyter_server_mcp.tools`."""


async def explora_find_packages(query: str, k: int = 5, max_tokens: int = DEFAULT_TOKENS) -> str:
    """Find the installed packages that can do something, each with its best APIs: when the library is not known.

    Args:
        query: what a package is to do, in words.
        k: how many packages, at most.
        max_tokens: size limit of the answer.
    """
    from exploracoder_jupyter.agent_tools.library_tools import find_packages

    return fitting_json(await find_packages(query, k, ""), max_tokens)


async def explora_search_apis(query: str, libraries: list[str], k: int = 10, max_tokens: int = DEFAULT_TOKENS) -> str:
    """Find functions, classes and methods of installed libraries by what they do. Best first, with signatures.

    Args:
        query: what to do, in a few words.
        libraries: import or distribution names, installed.
        k: how many results, at most.
        max_tokens: size limit of the answer.
    """
    from exploracoder_jupyter.agent_tools.library_tools import search_apis

    return fitting_json(await search_apis(query, libraries, k, ""), max_tokens)


async def explora_read_api(paths: list[str], source: bool = False, max_tokens: int = DEFAULT_TOKENS) -> str:
    """Everything about an API as installed: signature, parameters, docstring, members, runnable examples.

    Args:
        paths: dotted paths, such as "networkx.Graph.add_edge". One that does not exist is answered by similar ones.
        source: with source code.
        max_tokens: size limit of the answer.
    """
    from exploracoder_jupyter.agent_tools.library_tools import read_api

    return fitting_json(await read_api(paths, source=source, guides=False, kernel=""), max_tokens)
