"""Accessibility: what axe finds in the parts of a page that the extension shows, in each theme."""

from axe_playwright_python.sync_playwright import Axe

from tests.e2e.browser.sidebar import ID

THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark", "contrast": "JupyterLab Dark High Contrast"}
SIDEBAR = f"#{ID}"
BOARD = ".jp-Explora-boardWidget"
CARD = {"include": [[".jp-Explora-panel"], [".jp-Explora-card-buttons"], [".jp-Explora-badge"]]}
"""The card, its buttons, and the lines of candidates."""
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
"""The rules whose results depend on the theme."""


def serious_violations(page, context=None, options=None):
    """What axe finds serious or critical in this part of the page, with the elements."""
    return [
        (rule["id"], [node["html"] for node in rule["nodes"]])
        for rule in Axe().run(page, context=context, options=options).response["violations"]
        if rule["impact"] in ("serious", "critical")
    ]


def violations_by_theme(tab, context, picture, themes=tuple(THEMES), ready=lambda: None):
    """What axe finds, by theme; takes a picture in each, and returns to the light theme."""
    found = {}
    try:
        for number, name in enumerate(themes):
            tab.theme(THEMES[name])
            ready()
            tab.shot(f"{picture}-{name}")
            found[f"{picture}-{name}"] = serious_violations(tab.page, context, COLOURS if number else None)
    finally:
        tab.theme(THEMES["light"])
    return {name: violations for name, violations in found.items() if violations}
