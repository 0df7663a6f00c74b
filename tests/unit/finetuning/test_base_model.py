"""Prompts of models in this process."""

from dataclasses import dataclass

from jinja2 import Environment, TemplateError

from exploracoder_jupyter.core.types import Message
from exploracoder_jupyter.finetuning.base_model import LoadedModel

TEMPLATE = (
    "{% for message in messages %}{% if (message.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ refuse('Conversation roles must alternate') }}{% endif %}<{{ message.role }}>{{ message.content }}{% endfor %}"
)


def refuse(why):
    raise TemplateError(why)


@dataclass
class Tokenizer:
    def apply_chat_template(self, sent, **_):
        return Environment().from_string(TEMPLATE).render(messages=sent, refuse=refuse)


def test_a_template_without_system_role_is_given_none():
    asked = (Message("system", "Be brief."), Message("user", "What?"), Message("assistant", "x"))
    assert LoadedModel(None, Tokenizer(), "").prompt(asked) == "<user>Be brief.\n\nWhat?<assistant>x"
