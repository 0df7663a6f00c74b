"""The program of a reply, in every form in which models and servers are known to wrap it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.pipeline.prompting.lookup_notation import pending_calls
from exploracoder_jupyter.pipeline.prompting.replies import PlanReply, parse_code, parse_json
from exploracoder_jupyter.text.replies import without_thinking
from tests.unit.served import answers, ask, delta, model, streamed

X = "x = 1\nprint(x)"
FENCED = f"```python\n{X}\n```"
DRAFT = "Maybe\n```python\nx = 2\n```\n"

ANALYSIS = f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant"

FORMS = {
    "final channel": f"{ANALYSIS}<|channel|>final<|message|>{FENCED}",
    "final channel returned": f"<|channel|>analysis<|message|>Hm<|end|><|channel|>final<|message|>{X}<|return|>",
    "final channel alone": f"<|channel|>final<|message|>{FENCED}<|return|>",
    "final channel constrained": f"<|channel|>final <|constrain|>python<|message|>{X}",
    "channels without their marks": f"analysisWe need to print it.assistantfinal{FENCED}",
    "ChatML end": f"{FENCED}<|im_end|>",
    "ChatML end and the next turn": f"{FENCED}<|im_end|>\n<|im_start|>user\nThanks, and now print(y)\n",
    "ChatML around": f"<|im_start|>assistant\n{FENCED}\n<|im_end|>",
    "Llama 3 end": f"{FENCED}<|eot_id|>",
    "Llama 3 around": f"<|start_header_id|>assistant<|end_header_id|>\n\n{X}<|eot_id|>",
    "Llama 2 end": f"{FENCED}</s>",
    "Gemma end": f"{FENCED}\n<end_of_turn>\n<eos>",
    "Gemma around": f"<start_of_turn>model\n{FENCED}<end_of_turn>",
    "Phi end": f"{FENCED}<|end|>",
    "GPT end": f"{X}\n<|endoftext|>",
    "DeepSeek end": f"{X}<｜end▁of▁sentence｜>",
    "GLM turns": f"<|assistant|>\n{FENCED}\n<|user|>\nThanks",
    "Mistral instruction": f"[/INST] {FENCED}</s>",
    "end within an open fence": f"```python\n{X}<|im_end|>",
    "end on a line of an open fence": f"```python\n{X}\n</s>\n<s>",
    "two ends": f"{FENCED}<|im_end|><|endoftext|>",
    "thinking": f"<thinking>{DRAFT}</thinking>{FENCED}",
    "reasoning": f"<reasoning>\n{DRAFT}</reasoning>\n{FENCED}",
    "thought": f"<thought>{DRAFT}</thought>\n{X}",
    "Magistral": f"[THINK]{DRAFT}[/THINK]{FENCED}",
    "begin of thought": f"<|begin_of_thought|>{DRAFT}<|end_of_thought|>\n<|begin_of_solution|>\n{X}<|end_of_solution|>",
    "Kimi": f"◁think▷{DRAFT}◁/think▷{FENCED}",
    "Cohere": f"<|START_THINKING|>{DRAFT}<|END_THINKING|><|START_RESPONSE|>{FENCED}<|END_RESPONSE|>",
    "Seed": f"<seed:think>{DRAFT}</seed:think>{FENCED}",
    "two thoughts": f"<think>a</think>\n<think>{DRAFT}</think>{FENCED}",
    "a thought after the beginning": f"Sure.\n\n<think>{DRAFT}</think>\n{FENCED}",
    "a thought after the program": f"{FENCED}\n<think>\n{DRAFT}</think>",
    "an open thought after the program": f"{FENCED}\n<think>\n{DRAFT}",
    "only the end of a thought": f"{DRAFT}</think>\n{FENCED}",
    "only the end with an open draft": f"Maybe\n```python\nx = (\n</think>\n{FENCED}",
    "an end with nothing after it": f"{FENCED}\n</think>",
    "an answer": f"<think>{DRAFT}</think><answer>{FENCED}</answer>",
    "an answer without a fence": f"<answer>\n{X}\n</answer>",
    "closed on the last line": "```python\nx = 1\nprint(x)```",
    "closed on the last line with prose": "```python\nx = 1\nprint(x)```\nThis prints x.",
    "closed with prose behind": f"```python\n{X}\n``` This prints x.",
    "closed by the next fence": "```python\nx = 1\n```python\nprint(x)\n```",
    "opened behind prose": f"Here it is: ```python\n{X}\n```\nDone.",
    "a fence in a fence": f"```\n{FENCED}\n```",
    "byte order mark": f"\ufeff{X}",
    "byte order mark before the fence": f"\ufeff{FENCED}",
    "byte order mark in the fence": f"```python\n\ufeff{X}\n```",
    "code element": f"<code>{X}</code>",
    "code element in prose": f"This prints it:\n<pre><code class='language-python'>{X}\n</code></pre>\nDone.",
    "python element": f"<python>\n{X}\n</python>",
    "JSON": json.dumps({"code": X}),
    "JSON with other fields": json.dumps({"explanation": "It prints x.", "code": X, "libraries": ["a"]}),
    "JSON in a fence": f"```json\n{json.dumps({'program': X}, indent=1)}\n```",
    "JSON with a fence in it": json.dumps({"solution": FENCED}),
    "JSON with line ends in the string": '{"code": "x = 1\nprint(x)"}',
    "JSON of a tool": json.dumps({"name": "python", "arguments": {"code": X}}),
    "tildes": f"~~~python\n{X}\n~~~",
    "indented fence": "- Do it:\n\n    ```python\n    x = 1\n    print(x)\n    ```",
    "indented code in a fence": "```python\n    x = 1\n    print(x)\n```",
    "Windows line ends": FENCED.replace("\n", "\r\n"),
    "Windows line ends and an end mark": f"{FENCED}<|im_end|>".replace("\n", "\r\n"),
    "Quarto": f"```{{python}}\n{X}\n```",
    "Pandoc": f"```{{.python .numberLines}}\n{X}\n```",
    "MyST": f"```{{code-cell}} ipython3\n{X}\n```",
    "a file name": f"```python:main.py\n{X}\n```\n```\nnot code at all\n```",
    "a title": f'```python title="main.py"\n{X}\n```',
    "a version": f"```python3.12\n{X}\n```\n```\n1\n```",
    "a language class": f"```language-python\n{X}\n```\n```\n1\n```",
    "in backticks": "`print(1)`",
    "open tildes": f"Sure\n~~~python\n{X}",
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_program_of_a_reply_is_found(text):
    assert parse_code(text) == ("print(1)" if text == "`print(1)`" else X)


FENCE_WITHIN = "text = '''\nAn example:\n```python\ny = 2\n```\n'''\nprint(text)"
PROGRAMS = [
    X,
    FENCE_WITHIN,
    'readme = """\n```\nplain\n```\n"""\nif readme:\n    print(readme)',
    'prompt = """<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"""\nprint(prompt)',
    'prompt = f"<s>[INST] {1} [/INST]"\nparts = prompt.split("</s>")',
    "import re\ntext = re.sub('<think>.*?</think>', '', '<think>a</think>b', flags=re.DOTALL)",
    'reply = """\n<think>\nhm\n</think>\nyes\n"""\nprint(reply)',
    "end = '</think>'",
    "channel = '<|channel|>final<|message|>'\nprint(channel)",
    "fence = '```'  # ```\nprint(fence)",
    'html = """<code>x</code>\n<answer>1</answer>"""\nprint(html)',
    'import json\ndata = json.loads(\'{"code": "y = 2"}\')',
    'data = {"code": "y = 2"}',
    "tokens = {'eos': '<|endoftext|>', 'eot': '<|eot_id|>'}  # <|eot_id|>\nprint(tokens)",
    "def f(a):\n    '''Return a.\n\n    ```python\n    f(1)\n    ```\n    '''\n    return a\n\n\nprint(f(1))",
    "a = '\\ufeff'\nb = '[THINK]'",
]
THOUGHTS = [
    "",
    "<think>\nHm, `x`.\n</think>\n",
    f"<think>{DRAFT}</think>\n\n",
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>",
    f"[THINK]{DRAFT}[/THINK]",
    f"{DRAFT}</think>\n",
]
FENCES = ["```python\n{}\n```", "```py\n{}\n```", "~~~python\n{}\n~~~", "```{{python}}\n{}\n```", "```\n{}\n```"]
LEADS = ["", "Sure, here it is:\n\n", "1. Do it:\n"]
ENDS = [
    "",
    "<|im_end|>",
    "</s>",
    "\n<end_of_turn>\n",
    "<|eot_id|>",
    "\n\nIt prints the result.",
    "<|end|>\n<|user|>\nThanks",
]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("fence", ["{}", *FENCES])
def test_programs_that_hold_marks_stay_whole(program, fence):
    assert parse_code(fence.format(program)) == program


@given(
    st.sampled_from(PROGRAMS),
    st.sampled_from(THOUGHTS),
    st.sampled_from(["", "<|im_start|>assistant\n", "<s>", "\ufeff"]),
    st.sampled_from(LEADS),
    st.sampled_from(FENCES),
    st.sampled_from(ENDS),
    st.sampled_from(["", "   "]),
    st.booleans(),
)
def test_a_wrapped_program_comes_out_unchanged(program, thought, header, lead, fence, end, indent, windows):
    fenced = "\n".join(indent + line for line in fence.format(program).split("\n"))
    text = f"{header}{thought}{lead}{fenced}{end}"
    assert parse_code(text.replace("\n", "\r\n") if windows else text) == program


@given(st.sampled_from(PROGRAMS), st.sampled_from(THOUGHTS[:-1]), st.sampled_from(ENDS[:5]))
def test_an_unfenced_program_comes_out_unchanged(program, thought, end):
    assert parse_code(f"{thought}{program}{end}") == program


@given(st.sampled_from(PROGRAMS), st.sampled_from(["code", "python", "solution"]), st.booleans())
def test_a_program_in_json_comes_out_unchanged(program, key, fenced):
    text = json.dumps({"about": "It prints.", key: program})
    assert parse_code(f"```json\n{text}\n```" if fenced else text) == program


@pytest.mark.parametrize(
    "text",
    [
        f"<|channel|>analysis<|message|>{DRAFT}",
        f"Sure.\n<think>\n{DRAFT}",
        f"[THINK]{DRAFT}",
        f"<|begin_of_thought|>{DRAFT}",
        "<|im_end|>",
        json.dumps({"answer": "I am sorry, no."}),
    ],
)
def test_thoughts_alone_hold_no_program(text):
    with pytest.raises(ReplyError):
        parse_code(text)


@pytest.mark.parametrize(
    "text",
    [
        '<|channel|>final<|message|>{"subtasks": ["a"]}<|return|>',
        '{"subtasks": ["a"]}<|im_end|>',
        "1. a<|eot_id|>",
        '[THINK]["no"][/THINK]["a"]',
        "<reasoning>1. no</reasoning>\n1. a</s>",
    ],
)
def test_marks_are_removed_from_plans_too(text):
    assert parse_json(text, PlanReply).subtasks == ["a"]


@pytest.mark.parametrize(
    "first",
    [
        "Split the text at </s>",
        "Append <|im_end|>",
        "Write <|im_start|>user before it",
        "Wrap it in [INST]",
        "Use </think>!",
    ],
)
def test_marks_that_a_plan_names_stay(first):
    assert parse_json(f"1. {first}\n2. Print it", PlanReply).subtasks[-2:] == [first, "Print it"]


def test_a_tool_call_in_a_channel_is_seen():
    text = (
        "<|channel|>analysis<|message|>I look it up.<|end|><|start|>assistant<|channel|>commentary"
        ' to=functions.get_source <|constrain|>json<|message|>{"path": "m.f"}<|call|>'
    )
    [call] = pending_calls(text)
    assert (call.tool, call.argument) == ("get_source", "m.f")


def test_the_longest_part_that_parses_is_taken():
    text = "```python\ndf.groupby(\n```\nThe whole program:\n```python\nx = 1\nprint(x)\n```"
    assert parse_code(text) == X


@pytest.mark.parametrize("prose", ["It removes `</think>`.", "It splits at '</s>'.", 'The end is "<|im_end|>".'])
def test_marks_that_prose_quotes_end_nothing(prose):
    assert parse_code(f"{prose}\n\n{FENCED}\n\n{prose}") == X


@pytest.mark.parametrize("mark", ["<|im_end|>", "</s>", "<|endoftext|>"])
async def test_marks_of_a_reply_are_not_recorded(mark):
    [reply] = await answers(model(lambda body: streamed(delta(content=f"{FENCED}{mark}", finish="stop"))), ask())
    assert without_thinking(reply.text) == reply.text == FENCED
