"""The retrieval evaluator that asks a language model: fused, staged, or passage by passage."""

import dataclasses
import datetime
from collections.abc import Callable, Sequence

from langchain_core.language_models import BaseChatModel

from crag_graph.budget import Budget
from crag_graph.evaluators.base import Evaluation, Passage, Rewrite
from crag_graph.evaluators.llm.batching import Excerpt, excerpt
from crag_graph.evaluators.llm.forms import (
    Sheet,
    fused_form,
    grade_form,
    passage_form,
    strips_form,
)
from crag_graph.evaluators.llm.grading import Grading, grade
from crag_graph.evaluators.llm.keys import options_of, shown_by
from crag_graph.evaluators.llm.refining import refine
from crag_graph.evaluators.llm.results import as_evaluation_error, grade_of, note_cuts, strip_scores
from crag_graph.evaluators.llm.rewriting import in_words, rewrite
from crag_graph.evaluators.query import own_query, usable_queries
from crag_graph.models.asking import NOSTREAM, Asker, Backoff
from crag_graph.models.fencing import without_tokens
from crag_graph.models.forms import Form
from crag_graph.models.meter import Meter
from crag_graph.models.plan import Offload, Plan, arun, run
from crag_graph.prompting import Prompt, Prompts
from crag_graph.settings import EvaluationMode, Scale, Settings

# The settings that change what a model sees of a passage, beside the prompts.
_SHOWN = (
    "batch_passages",
    "batch_tokens",
    "passage_tokens",
    "sub_queries",
    "withhold_instructions",
)
_LONG = 20_000  # characters of passages that are prepared off the event loop


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Mode:
    prompt: str
    form: Callable[[int], Form[Sheet]]
    scale: Scale
    strips: bool = True
    passages_a_call: int | None = None


_MODES: dict[EvaluationMode, _Mode] = {
    "fused": _Mode(prompt="evaluate", form=fused_form, scale="five_point"),
    "staged": _Mode(prompt="grade", form=grade_form, scale="five_point", strips=False),
    "per_passage": _Mode(
        prompt="grade_passage", form=passage_form, scale="unit", passages_a_call=1
    ),
}


def _today() -> datetime.date:
    return datetime.datetime.now().astimezone().date()


class LLMEvaluator:
    """Grades passages with a chat model, in the way that `settings.evaluation_mode` names.

    `fused` grades all passages, marks the strips that hold up and writes the web query in one call.
    `staged` only grades; `refine` and `rewrite` are calls of their own. `per_passage` grades each
    passage on 0–1 and marks its strips, one call a passage. Calls are more where passages exceed
    the caps, where an answer has gaps or is unreadable, and where one passage spoils a batch.

    It also fulfils `StripJudge` and `QueryRewriter`.
    """

    name = "llm"

    def __init__(
        self,
        model: BaseChatModel,
        *,
        fallback: BaseChatModel | None = None,
        prompts: Prompts | None = None,
        today: Callable[[], datetime.date] = _today,
        backoff: Backoff | None = None,
    ) -> None:
        """Make an evaluator of a chat model.

        Args:
            model: The model; its tokens never reach LangGraph's `messages` stream.
            fallback: Asked when the model fails.
            prompts: Where prompts come from; by default the package's.
            today: What date it is.
            backoff: How failed requests are repeated.
        """
        models = [model] if fallback is None else [model, fallback]
        self._askers = [
            Asker(_quiet(each), backoff=backoff, tags=(NOSTREAM,), component="evaluator")
            for each in models
        ]
        self._options = [options_of(each) for each in models]
        self._prompts = prompts or Prompts()
        self._today = today

    def evaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the evaluation of `passages`."""
        return run(self._evaluation(question, passages, settings, budget))

    async def aevaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the evaluation of `passages`."""
        return await arun(self._evaluation(question, passages, settings, budget))

    def refine(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the scores of the strips of `passages`; there are no grades in it."""
        return run(self._refinement(question, passages, settings, budget))

    async def arefine(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the scores of the strips of `passages`; there are no grades in it."""
        return await arun(self._refinement(question, passages, settings, budget))

    def rewrite(self, question: str, *, settings: Settings, budget: Budget) -> Rewrite:
        """Return queries for the web."""
        return run(self._rewriting(question, settings, budget))

    async def arewrite(self, question: str, *, settings: Settings, budget: Budget) -> Rewrite:
        """Return queries for the web."""
        return await arun(self._rewriting(question, settings, budget))

    def fingerprint(self, settings: Settings) -> str:
        """Return what scores depend on besides question and passage: mode, model and prompt.

        May read the prompt's file.
        """
        mode = settings.evaluation_mode
        endpoint = self._askers[0].endpoint
        prompt = run(self._prompt(_MODES[mode].prompt, settings))
        return f"{self.name}:{mode}:{endpoint.host}:{endpoint.model}:{prompt.hash}"

    def cache_key(self, settings: Settings) -> str:
        """Return the fingerprint, with all else that answers depend on: see `llm_keys`."""
        steps = ("refine", "rewrite") if settings.evaluation_mode == "staged" else ("rewrite",)
        prompts = [run(self._prompt(step, settings)).hash for step in steps]
        return f"{self.fingerprint(settings)}:{self._options}:{prompts}:{shown_by(settings)}"

    def joint(self, settings: Settings) -> bool:
        """Return whether passages share a call, in which one may colour the grade of another."""
        return _MODES[settings.evaluation_mode].passages_a_call != 1

    def _evaluation(
        self, question: str, passages: Sequence[Passage], settings: Settings, budget: Budget
    ) -> Plan[Evaluation]:
        mode = _MODES[settings.evaluation_mode]
        if mode.passages_a_call:
            settings = settings.model_copy(update={"batch_passages": mode.passages_a_call})
        grading, excerpts = yield from self._prepared(
            mode.prompt, mode.form, question, passages, settings, budget
        )
        graded = yield from grade(grading, excerpts)
        if graded.error is not None and all(verdict.raw is None for verdict in graded.verdicts):
            raise as_evaluation_error(graded.error)
        query = self._query(graded.queries, question, settings, grading.meter)
        return Evaluation(
            grades=[grade_of(verdict, mode.scale, self.name) for verdict in graded.verdicts],
            strip_scores=strip_scores(graded.verdicts, mode.scale) if mode.strips else {},
            search_query=query,
            usage=grading.meter.usage,
            notes=grading.meter.notes,
        )

    def _refinement(
        self, question: str, passages: Sequence[Passage], settings: Settings, budget: Budget
    ) -> Plan[Evaluation]:
        grading, excerpts = yield from self._prepared(
            "refine", strips_form, question, passages, settings, budget
        )
        scores, error = yield from refine(grading, excerpts)
        if error is not None and not scores:
            raise as_evaluation_error(error)
        meter = grading.meter
        return Evaluation(grades=(), strip_scores=scores, usage=meter.usage, notes=meter.notes)

    def _rewriting(self, question: str, settings: Settings, budget: Budget) -> Plan[Rewrite]:
        meter = Meter(budget)
        prompt = yield from self._prompt("rewrite", settings)
        queries = yield from rewrite(
            self._askers,
            prompt.render(**self._values(question, settings)),
            question=question,
            year=self._today().year,
            most=settings.sub_queries,
            meter=meter,
        )
        return Rewrite(queries=queries, usage=meter.usage, notes=meter.notes)

    def _prepared(
        self,
        name: str,
        form: Callable[[int], Form[Sheet]],
        question: str,
        passages: Sequence[Passage],
        settings: Settings,
        budget: Budget,
    ) -> Plan[tuple[Grading, list[Excerpt]]]:
        """Return what is asked of whom, and the excerpts."""
        prompt = yield from self._prompt(name, settings)

        def show() -> list[Excerpt]:
            return [excerpt(passage, question, settings) for passage in passages]

        long = sum(len(passage.text) for passage in passages) > _LONG
        excerpts: list[Excerpt] = (yield Offload(show)) if long else show()
        grading = Grading(
            askers=self._askers,
            meter=Meter(budget),
            settings=settings,
            prompt=prompt,
            values=self._values(question, settings),
            form=form,
        )
        note_cuts(excerpts, grading.meter)
        return grading, excerpts

    def _prompt(self, name: str, settings: Settings) -> Plan[Prompt]:
        override = getattr(settings, f"prompt_{name}")
        prompt = self._prompts.fresh(name, override=override)
        if prompt is None:
            prompt = yield Offload(lambda: self._prompts.load(name, override=override))
        return prompt

    def _values(self, question: str, settings: Settings) -> dict[str, str]:
        return {
            "question": without_tokens(question),
            "today": self._today().isoformat(),
            "queries": in_words(settings.sub_queries),
        }

    def _query(
        self, written: Sequence[str], question: str, settings: Settings, meter: Meter
    ) -> str:
        if settings.evaluation_mode != "fused":
            return ""
        year, most = self._today().year, settings.sub_queries
        found = usable_queries(written, question=question, year=year, most=most)
        if not found:
            meter.note("the model wrote no usable web query, so the question's own keywords are it")
        return "\n".join(found) or own_query(question)


def _quiet(model: BaseChatModel) -> BaseChatModel:
    """Return the model as one that never streams: its tokens are nobody's to see."""
    return model.model_copy(update={"disable_streaming": True})
