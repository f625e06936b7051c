"""The generator that asks a language model, once."""

from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from crag_graph.budget import Budget
from crag_graph.errors import GenerationError, ModelError
from crag_graph.generation.base import Evidence, Generation, GenerationRequest
from crag_graph.generation.conflicts import conflicts
from crag_graph.generation.llm_prompt import (
    ShownEvidence,
    show_evidence,
    show_history,
    show_question,
)
from crag_graph.generation.quotes import verify_quotes
from crag_graph.models.asking import Asker, Backoff
from crag_graph.models.failures import EndpointError, cut_off
from crag_graph.models.fallback import first_that_answers
from crag_graph.models.meter import Meter
from crag_graph.models.plan import Offload, Plan, arun, run
from crag_graph.models.reply import ending, refusal_text, visible_text
from crag_graph.models.visible import VisibleModel
from crag_graph.prompting import Prompt, Prompts
from crag_graph.settings import Settings

_NOTHING_LEFT = (
    "I cannot answer this: the sources that were found hold nothing but orders to the reader."
)
_LONG = 20_000  # characters of evidence that are prepared off the event loop
_DECLINED = "The model declined to answer this question."


class LLMGenerator:
    """Answers with a chat model, in one call, from fenced and numbered evidence.

    The prompt follows from the action. The call streams where LangGraph listens for messages, and
    then shows exactly the answer: no reasoning blocks. A reply without text is asked for once more.
    """

    name = "llm"

    def __init__(
        self,
        model: BaseChatModel,
        *,
        fallback: BaseChatModel | None = None,
        prompts: Prompts | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        """Make a generator of a chat model.

        Args:
            model: The model.
            fallback: Asked when the model fails before anything of its answer was shown.
            prompts: Where prompts come from; by default the package's.
            backoff: How failed requests are repeated.
        """
        models = [model] if fallback is None else [model, fallback]
        self._askers = [
            Asker(each, backoff=backoff, component="generator", wrap=VisibleModel.of)
            for each in models
        ]
        self._prompts = prompts or Prompts()

    def generate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        """Return the answer."""
        return run(self._generation(request, settings, budget))

    async def agenerate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        """Return the answer."""
        return await arun(self._generation(request, settings, budget))

    def _generation(
        self, request: GenerationRequest, settings: Settings, budget: Budget
    ) -> Plan[Generation]:
        name = f"answer_{request.action}"
        override = getattr(settings, f"prompt_{name}")
        prompt = self._prompts.fresh(name, override=override)
        if prompt is None:
            prompt = yield Offload(lambda: self._prompts.load(name, override=override))

        def show() -> tuple[ShownEvidence, list[str]]:
            evidence, withhold = request.evidence, settings.withhold_instructions
            shown = show_evidence(evidence, tokens=settings.evidence_tokens, withhold=withhold)
            return shown, [*shown.warnings, *conflicts(evidence)]

        long = sum(len(item.text) for item in request.evidence) > _LONG
        shown, warnings = (yield Offload(show)) if long else show()
        if not shown.text:
            return Generation(answer=_NOTHING_LEFT, refused=True, warnings=warnings)
        meter = Meter(budget)
        messages = _messages(prompt, request, shown)
        try:
            reply = yield from first_that_answers(
                self._askers, lambda asker: _answer(asker, messages, meter), meter=meter
            )
        except ModelError as error:
            raise _as_generation_error(error, request.evidence) from None
        warnings.extend(meter.notes)
        if ending(reply) == "refusal":
            answer = visible_text(reply) or refusal_text(reply).strip() or _DECLINED
            return Generation(
                answer=answer,
                refused=True,
                usage=meter.usage,
                warnings=warnings,
                message_id=reply.id or "",
            )
        answer = visible_text(reply)
        if ending(reply) == "length":
            warnings.append(
                "the answer was cut off at the model's limit of output tokens: raise it "
                "(CRAG_MAX_OUTPUT_TOKENS)"
            )
        if settings.verify_quotes:
            warnings.append(verify_quotes(answer, request.evidence).sentence)
        return Generation(
            answer=answer, usage=meter.usage, warnings=warnings, message_id=reply.id or ""
        )


def _messages(
    prompt: Prompt, request: GenerationRequest, shown: ShownEvidence
) -> list[BaseMessage]:
    *system, user = prompt.render(
        question=show_question(request.question),
        evidence=shown.text,
        fence=shown.fence,
        today=request.today.isoformat(),
    )
    history = show_history(request.history)
    if history and history[-1].type == user.type:  # a turn that was never answered
        del history[-1]
    return [*system, *history, user]


def _answer(asker: Asker, messages: Sequence[BaseMessage], meter: Meter) -> Plan[AIMessage]:
    """Return a reply with text or a refusal, asked for again where there is neither.

    Streamed refusals are lost by some clients (langchain-openai 1.7), so the second time no
    stream is asked for.
    """
    reply = yield from asker.ask(messages, meter=meter)
    if _is_empty(reply):
        at_once = (yield from asker.model()).bind(stream=False)
        reply = yield from asker.ask(messages, meter=meter, runnable=at_once)
    end = ending(reply)
    if end == "filter":
        raise EndpointError(
            f"{asker.endpoint.label} stopped at its content filter", reason="filter"
        )
    if end != "refusal" and not visible_text(reply):
        if end == "length":
            raise EndpointError(cut_off(asker.endpoint), reason="length")
        raise EndpointError(f"{asker.endpoint.label} gave an empty answer", reason="parse")
    return reply


def _is_empty(reply: AIMessage) -> bool:
    return ending(reply) == "stop" and not visible_text(reply)


def _as_generation_error(error: ModelError, evidence: Sequence[Evidence]) -> GenerationError:
    return GenerationError(
        error.message,
        reason=error.reason,
        evidence=[item.text for item in evidence],
        retry_after=error.retry_after,
    )
