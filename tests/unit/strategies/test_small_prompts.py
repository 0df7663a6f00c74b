"""The default's first prompts have documentation of what is used only."""

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.strategies.adaptive import adaptive
from tests.unit.strategies.replies import RIGHT, WRONG, fenced, prompts
from tests.unit.world import MATH, a_run

MANY = tuple(
    ApiDoc(f"math.trick_{n}", "function", "(x)", f"Trick number {n} of many. " + "It is long. " * 9, "math", "1.0")
    for n in range(200)
)


async def solved(*replies, apis=(*MATH, *MANY), **more):
    model = ScriptedModel([fenced(reply) if "import" in reply else reply for reply in replies])
    run = a_run(model, as_published=False, apis=apis, **{"check": "assert root == 4", **more})
    return await run_task(run, adaptive), prompts(model)


async def test_the_first_request_about_a_large_library_has_no_documentation():
    result, (prompt,) = await solved(RIGHT)
    assert result.verdict.outcome == "solved"
    assert "Trick number" not in prompt and "math.sqrt" not in prompt


async def test_a_small_library_is_listed_whole():
    _, (prompt,) = await solved(RIGHT, apis=MATH)
    assert all(api.path in prompt for api in MATH)


async def test_what_the_model_wants_to_look_up_is_documented():
    result, (_, prompt) = await solved("LOOK UP: math.sqrt\n- look up: number 7", RIGHT)
    assert result.verdict.outcome == "solved"
    assert "Return the square root" in prompt and "math.trick_7" in prompt and "math.trick_199" not in prompt


async def test_a_failure_brings_the_documentation_of_what_was_called():
    failing = "import math\nmath.gcd(4, 6)\nroot = math.sqrt('16')"
    result, (_, prompt) = await solved(failing, RIGHT)
    assert result.verdict.outcome == "solved"
    assert "Return the square root" in prompt and "Greatest common divisor." in prompt


async def test_a_reply_without_code_and_names_is_asked_for_again():
    result, asked = await solved("I do not know.", WRONG, RIGHT)
    assert result.verdict.outcome == "solved" and len(asked) == 3 and "introot" in asked[2]
