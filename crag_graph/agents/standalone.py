"""Making a question that retrieval can be asked from a follow-up in a conversation."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Protocol

from langchain_core.language_models import BaseChatModel

from crag_graph.agents.conversation import Turn, is_follow_up, standalone_by_rule
from crag_graph.budget import Budget
from crag_graph.environment import Environment
from crag_graph.errors import BudgetExceededError, ModelError
from crag_graph.models.asking import NOSTREAM, Asker
from crag_graph.models.fencing import without_tokens
from crag_graph.models.meter import Meter
from crag_graph.models.plan import Offload, Plan, arun, run
from crag_graph.models.reply import visible_text
from crag_graph.prompting import Prompt, Prompts
from crag_graph.state import NodeUsage
from crag_graph.text.clean import clean_text, shorten
from crag_graph.text.language import detect_language

_MOST_CHARACTERS = 1000
_RULE_KNOWS = frozenset({"en", "de"})
_LONGEST_TURN = 1500


@dataclasses.dataclass(frozen=True, kw_only=True)
class Standalone:
    """A question by itself.

    Attributes:
        question: What retrieval is asked.
        by: Who made it: `as asked`, `rule`, or the name of a model.
        usage: Calls and tokens that it took.
        notes: Sentences for the decision card.
    """

    question: str
    by: str = "as asked"
    usage: NodeUsage = dataclasses.field(default_factory=NodeUsage)
    notes: Sequence[str] = ()


class Rewriter(Protocol):
    """Makes follow-ups into questions. Both methods give the same result and raise nothing."""

    def rewrite(
        self, message: str, history: Sequence[Turn], *, budget: Budget, prompt: str = ""
    ) -> Standalone:
        """Return the question; `prompt` is this run's text in place of `prompts/standalone.md`."""
        ...

    async def arewrite(
        self, message: str, history: Sequence[Turn], *, budget: Budget, prompt: str = ""
    ) -> Standalone:
        """Return what `rewrite` does."""
        ...


class RuleRewriter:
    """Needs no model: puts a follow-up behind the questions that it follows."""

    def rewrite(
        self, message: str, history: Sequence[Turn], *, budget: Budget, prompt: str = ""
    ) -> Standalone:
        """Return the message itself, or the questions before it and the message."""
        del budget, prompt
        question = standalone_by_rule(message, history)
        return Standalone(question=question, by="as asked" if question == message else "rule")

    async def arewrite(
        self, message: str, history: Sequence[Turn], *, budget: Budget, prompt: str = ""
    ) -> Standalone:
        """Return what `rewrite` does."""
        return self.rewrite(message, history, budget=budget, prompt=prompt)


class ModelRewriter:
    """Asks a chat model, where the message is or may be a follow-up; falls back on the rule.

    The model is asked about messages that the rule takes for follow-ups, and about all that are in
    a language whose words the rule does not know. The others cost nothing.

    Args:
        model: Asked once, its tokens hidden from the stream.
        prompts: Where `standalone.md` comes from.
    """

    def __init__(self, model: BaseChatModel, *, prompts: Prompts | None = None) -> None:
        self._asker = Asker(model, tags=[NOSTREAM], component="rewriter")
        self._prompts = prompts or Prompts()

    def rewrite(
        self, message: str, history: Sequence[Turn], *, budget: Budget, prompt: str = ""
    ) -> Standalone:
        """Return the model's question."""
        if not _worth_asking(message, history):
            return Standalone(question=message)
        meter = Meter(budget)
        try:
            question = run(self._plan(message, history, meter, prompt))
        except (ModelError, BudgetExceededError) as error:
            return self._by_rule(message, history, meter, error)
        return self._made(question, meter)

    async def arewrite(
        self, message: str, history: Sequence[Turn], *, budget: Budget, prompt: str = ""
    ) -> Standalone:
        """Return the model's question."""
        if not _worth_asking(message, history):
            return Standalone(question=message)
        meter = Meter(budget)
        try:
            question = await arun(self._plan(message, history, meter, prompt))
        except (ModelError, BudgetExceededError) as error:
            return self._by_rule(message, history, meter, error)
        return self._made(question, meter)

    def _plan(
        self, message: str, history: Sequence[Turn], meter: Meter, override: str
    ) -> Plan[str]:
        prompt: Prompt = yield Offload(lambda: self._prompts.load("standalone", override=override))
        messages = prompt.render(question=without_tokens(message), history=_lines(history))
        reply = yield from self._asker.ask(messages, meter=meter)
        question = " ".join(clean_text(visible_text(reply)).split())
        if not question or len(question) > _MOST_CHARACTERS:
            raise ModelError(
                f"{self._asker.endpoint.label} made no question of the follow-up", reason="parse"
            )
        return question

    def _made(self, question: str, meter: Meter) -> Standalone:
        return Standalone(
            question=question,
            by=self._asker.endpoint.model,
            usage=meter.usage,
            notes=meter.notes,
        )

    @staticmethod
    def _by_rule(
        message: str, history: Sequence[Turn], meter: Meter, error: ModelError | BudgetExceededError
    ) -> Standalone:
        return Standalone(
            question=standalone_by_rule(message, history),
            by="rule",
            usage=meter.usage,
            notes=(f"the follow-up was put together by rule: {error.message}",),
        )


def load_rewriter(environment: Environment) -> Rewriter:
    """Return the rewriter that `environment` names: its chat model where it has one, or the rule.

    Raises:
        ConfigurationError: The model cannot be used.
    """
    if not environment.chat_model:
        return RuleRewriter()
    from crag_graph.models.chat import load_chat_model

    variables: Mapping[str, str] = environment.variables
    model = load_chat_model(environment.chat_model, role="chat", environ=variables)
    return ModelRewriter(model, prompts=Prompts.from_env(variables))


def _worth_asking(message: str, history: Sequence[Turn]) -> bool:
    if not history:
        return False
    return is_follow_up(message) or detect_language(message) not in _RULE_KNOWS


def _lines(history: Sequence[Turn]) -> str:
    names = {"user": "User", "assistant": "Assistant"}
    return "\n".join(
        f"{names[turn['role']]}: "
        f"{shorten(' '.join(without_tokens(turn['content']).split()), _LONGEST_TURN)}"
        for turn in history
    )
