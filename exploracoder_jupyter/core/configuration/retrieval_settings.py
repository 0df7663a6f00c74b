"""Settings of retrieval: which sources are searched for help, and how often."""

# No `from __future__ import annotations`: the annotations are read at run time, as objects.
from dataclasses import dataclass
from typing import Annotated, Literal

from exploracoder_jupyter.core.configuration.setting_annotations import Option, Section, Setting

Formulation = Literal["task", "subtask", "error", "code", "explained"]
"""What a query was made from (ARKS, section 2.2): the text of the task or subtask, the error that occurred, the code
that was tried, or that code explained in words."""
Web = Literal["off", "ddgs", "searxng", "url"]
"""How the web is searched."""


@dataclass(frozen=True, slots=True)
class Retrieval(Section):
    """Which sources are searched for help, and how often."""

    rounds: Annotated[
        int, Setting("maximum number of new searches after all candidates of a subtask failed", ge=0, le=10)
    ] = 2
    formulation: Annotated[Formulation, Setting("what the query of such a search is made from")] = "error"
    context_tokens: Annotated[int, Setting("maximum tokens of search results in one prompt", ge=500, le=50_000)] = 4000
    lookups: Annotated[int, Setting("maximum API lookups by the model while it writes one snippet", ge=0, le=10)] = 3
    inline_lookups: Annotated[
        bool,
        Setting("the model was fine-tuned with `jupyter explora finetune`: it looks APIs up in the middle of its code"),
        Option(),
    ] = False
    snippets: Annotated[
        bool,
        Setting("whether code that ran is stored and offered to later tasks"),
        Option(
            "no-snippets",
            "do not use code from earlier explorations, and do not store any for later ones",
            negates=True,
        ),
    ] = True
    docs: Annotated[
        tuple[str, ...],
        Setting(
            "documentation in addition to the library's own, or of a library that is not installed: a file, a folder "
            "or a .zip of Markdown, reST, HTML, notebooks, objects.inv or signatures"
        ),
        Option(metavar="PATH", reading=True),
    ] = ()
    workspace: Annotated[
        bool,
        Setting("search the notebook's code and the Python, Markdown and notebook files next to it for help"),
        Option(command_help="search the Python, Markdown and notebook files of this folder for help"),
    ] = False
    web: Annotated[
        Web,
        Setting("search the web too: ddgs (DuckDuckGo), the URL of a SearXNG server, or a URL that contains {query}"),
        Option(kind="text", metavar="WHERE"),
    ] = "off"
    web_address: Annotated[
        str | None,
        Setting("URL of the SearXNG server, or URL template with `{query}`; `web` may set it"),
    ] = None
    embedding_folder: Annotated[
        str | None,
        Setting(
            "folder of a sentence-transformers or model2vec model; none: the endpoint's embeddings, or built-in word "
            "vectors"
        ),
        Option(
            help="embed documentation with the sentence-transformers or model2vec model in this folder, on this "
            "machine",
            metavar="FOLDER",
            reading=True,
        ),
    ] = None
