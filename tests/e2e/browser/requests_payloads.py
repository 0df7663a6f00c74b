r"""What makes a front end send a request by itself, if it is shown as it is: for each type and construct one bundle.

`HOST` stands for the address of a server, `BARE` for the same without a scheme, which front ends do not make a link.
Each bundle requests only paths that begin with its name.
"""

import json

DIAGRAM = 'flowchart LR\n  a@{ img: "HOST/NAME", label: "x", w: 60, h: 60 }'
QUOTED = "\n".join(f"> {line}" for line in f"```mermaid\n{DIAGRAM}\n```".split("\n"))
FORMULA = r"\style{cursor:url('BARE/NAME'),auto}{x}"
_SVG = (
    "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' width='9' height='9'>"
    "<style>@import 'HOST/NAME/i'; @font-face { font-family: q; src: url('HOST/NAME/f') } svg { font-family: q;"
    " background-image: image-set('HOST/NAME/s' 1x); cursor: url('HOST/NAME/c'), auto }</style><text>x</text>"
    "<image href='HOST/NAME/h' width='9' height='9'/><use xlink:href='HOST/NAME/u#x'/><filter id='f'>"
    "<feImage href='HOST/NAME/e'/></filter><rect width='9' height='9' filter='url(#f)'/><foreignObject>"
    "<img xmlns='http://www.w3.org/1999/xhtml' src='HOST/NAME/f'/></foreignObject></svg>"
)
_HTML = {
    "img": "<img src='HOST/NAME'>",
    "srcset": "<img srcset='HOST/NAME/1 1x'><picture><source srcset='HOST/NAME/2'><img></picture>",
    "media": "<audio src='HOST/NAME/a' autoplay></audio><video poster='HOST/NAME/p'><source src='HOST/NAME/s'></video>",
    "link": "<link rel='stylesheet' href='HOST/NAME/c'><link rel='prefetch' href='HOST/NAME/p'>",
    "frames": "<iframe src='HOST/NAME/i'></iframe><object data='HOST/NAME/o'></object><embed src='HOST/NAME/e'>",
    "srcdoc": "<iframe srcdoc=\"<img src='HOST/NAME'>\"></iframe>",
    "dataurl": "<iframe src=\"data:text/html,<img src='HOST/NAME'>\"></iframe>",
    "background": "<table background='HOST/NAME/t'><tr><td background='HOST/NAME/d'>x</td></tr></table>",
    "style": "<div style=\"background-image: url('HOST/NAME')\">x</div>",
    "imageset": "<div style='background: image-set(\"HOST/NAME\" 1x)'>x</div>",
    "sheet": "<style>@import 'HOST/NAME/i'; @font-face { font-family: q; src: url('HOST/NAME/f') }</style>",
    "script": "<script>fetch('HOST/NAME/f')</script><img src=x onerror=\"fetch('HOST/NAME/e')\">",
    "input": "<input type='image' src='HOST/NAME'>",
    "inline": _SVG,
    "math": f"<p>${FORMULA}$</p>",
    "environment": rf"<p>\begin{{equation}}{FORMULA}\end{{equation}}</p>",
}
_MARKDOWN = {
    "fence": f"```mermaid\n{DIAGRAM}\n```",
    "tildes": f"~~~mermaid\n{DIAGRAM}\n~~~",
    "quoted": QUOTED,
    "image": "![x](HOST/NAME/1) ![y][1] <img src='HOST/NAME/2'>\n\n[1]: HOST/NAME/3",
    "typeset": f"So ${FORMULA}$ and \\\\({FORMULA}\\\\).",
}
_LATEX = {
    "latex": f"${FORMULA}$",
    "renamed": r"$\let\q=\style \q{cursor:url('BARE/NAME'),auto}{x}$",
    "defined": r"$\newcommand{\q}{\style}\q{cursor:url('BARE/NAME'),auto}{x}$",
}
_MARK = {"type": "image", "encode": {"enter": {"url": {"value": "HOST/NAME/m"}, "width": {"value": 9}}}}
_OTHERS = {
    "mermaid": {"text/vnd.mermaid": DIAGRAM},
    "picture": {"image/svg+xml": _SVG},
    "script": {"application/javascript": "fetch('HOST/NAME')"},
    "vega": {"application/vnd.vega.v5+json": {"data": [{"name": "t", "url": "HOST/NAME/d"}], "marks": [_MARK]}},
    "vegalite": {"application/vnd.vegalite.v5+json": {"data": {"url": "HOST/NAME"}, "mark": "bar"}},
    "plotly": {
        "application/vnd.plotly.v1+json": {
            "data": [{"type": "scattermapbox", "lat": [1], "lon": [1]}],
            "layout": {"images": [{"source": "HOST/NAME/i"}], "mapbox": {"style": "HOST/NAME/s"}},
        }
    },
    "geojson": {"application/geo+json": {"type": "Point", "coordinates": [1, 1]}},
    "bokeh": {"application/vnd.bokehjs_load.v0+json": "", "application/javascript": "fetch('HOST/NAME')"},
    "widget": {"application/vnd.jupyter.widget-view+json": {"model_id": "0", "version_major": 2, "version_minor": 0}},
    "pdf": {"application/pdf": "JVBERi0xLjQK"},
    "movie": {"video/mp4": "AAAA", "audio/wav": "AAAA"},
    "json": {"application/json": {"url": "HOST/NAME/1", "html": "<img src='HOST/NAME/2'>"}},
    "plain": {"text/plain": f"<img src='HOST/NAME/1'> ${FORMULA}$ \x1b[31mHOST/NAME/2\x1b[0m"},
}
_ALL = {
    **{name: {"text/html": text} for name, text in _HTML.items()},
    **{name: {"text/markdown": text} for name, text in _MARKDOWN.items()},
    **{name: {"text/latex": text} for name, text in _LATEX.items()},
    **{f"{name}-only" if name in _HTML else name: bundle for name, bundle in _OTHERS.items()},
}


def filled(value, host, name):
    """The value with the address of the server and the name in its strings."""
    text = json.dumps(value).replace("NAME", name).replace("HOST", host).replace("BARE", host.partition(":")[2])
    return json.loads(text)


def payloads(host, prefix=""):
    """All bundles by name, or by the prefix and their name."""
    return {f"{prefix}{name}": filled(bundle, host, f"{prefix}{name}") for name, bundle in _ALL.items()}
