"""No script from a candidate's output ever runs: not live, not when the notebook is opened again."""

from tests.e2e.browser.lab import candidates, text
from tests.e2e.browser.play import Scene
from tests.e2e.browser.stories import start_run

FIRE = "window.canary = 1"
PAYLOADS = {
    "text/html": f"""<p>seen</p><script>{FIRE}</script><img src=x onerror="{FIRE}"><svg onload="{FIRE}"></svg>
        <a href="javascript:{FIRE}">click</a><iframe srcdoc="<script>parent.{FIRE}</script>"></iframe>
        <details open ontoggle="{FIRE}"><summary>s</summary></details><style>@import 'javascript:{FIRE}'</style>""",
    "text/markdown": f"[click](javascript:{FIRE}) <img src=x onerror='{FIRE}'>",
    "text/latex": f"$\\href{{javascript:{FIRE}}}{{click}}$",
    "image/svg+xml": f"<svg xmlns='http://www.w3.org/2000/svg' onload='{FIRE}'><script>{FIRE}</script>"
    f"<a href='javascript:{FIRE}'><text y='20'>click</text></a><circle r='5'/></svg>",
    "application/javascript": FIRE,
    "application/vnd.jupyter.widget-view+json": {"model_id": "0", "version_major": 2, "version_minor": 0},
}
HOSTILE = f"""from IPython.display import display
for kind, payload in {PAYLOADS!r}.items():
    display({{kind: payload, 'text/plain': 'shown as ' + kind}}, raw=True)
print('<script>{FIRE}</script>')
raise ValueError("<img src=x onerror='{FIRE}'>")"""
SHOWN = HOSTILE.rpartition("\nraise")[0]
NAMES = f"<img src=x onerror='{FIRE}'>"


def poke(tab, notebook):
    """Unfold all cells and outputs, and click on whatever a user might click on in them."""
    notebook.expand_all()
    notebook.command("notebook:show-all-cell-outputs")
    tab.page.locator(".jp-OutputArea", has_text="seen").first.wait_for()
    for link in tab.page.locator(".jp-OutputArea a:visible").all():
        link.click(force=True, no_wait_after=True)


def test_no_script_of_a_candidate_ever_runs(tab, server, play):
    script = play(Scene(f"Do {NAMES}", [HOSTILE, f"print(1) # {NAMES}"]), solution=f"{SHOWN} # {NAMES}")
    script.scenes[0].mended = HOSTILE
    notebook = start_run(tab, server, script, "--debug-rounds 0", name="hostile.ipynb")
    cells = notebook.until_ended()
    shown = text(candidates(cells)["1.1"])
    assert all(f"shown as {kind}" in shown for kind in PAYLOADS)
    tab.page.locator(".jp-Explora-panel", has_text="seen").wait_for()
    tab.sidebar.open()
    poke(tab, notebook)
    assert tab.page.evaluate("window.canary") is None
    notebook.save()

    tab.reload()
    notebook = tab.open("hostile.ipynb")
    poke(tab, notebook)
    assert tab.page.evaluate("window.canary") is None
