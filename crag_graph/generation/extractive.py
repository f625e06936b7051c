"""An answer without a language model: the best strips, quoted in a readable order, each cited."""

from crag_graph.budget import Budget
from crag_graph.generation.base import Generation, GenerationRequest
from crag_graph.settings import Settings

LABEL = "Quoted from the sources (extractive: no language model wrote this):"

_MOST_STRIPS = 4
_SHARE_OF_BEST = (
    0.6  # a strip far below the best one is more likely noise than a part of the answer
)


class ExtractiveGenerator:
    """Quotes the strips that the evaluator scored best.

    At most four, each at least 0.6 of the best score; strips without a score count as 0. They are
    ordered by evidence number, then as in the text.
    """

    name = "extractive"

    def generate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        """Return the quoted strips under a label that says what they are. Spends nothing."""
        del settings, budget
        scored = sorted(
            (
                (score or 0.0, item.number, position, text)
                for item in request.evidence
                for position, (text, score) in enumerate(zip(item.strips, item.scores, strict=True))
            ),
            key=lambda entry: (-entry[0], entry[1], entry[2]),
        )
        bar = scored[0][0] * _SHARE_OF_BEST
        chosen = [entry for entry in scored[:_MOST_STRIPS] if entry[0] >= bar]
        lines = [
            f"{_one_line(text)} [{number}]"
            for _, number, _, text in sorted(chosen, key=lambda entry: entry[1:3])
        ]
        return Generation(answer="\n".join([LABEL, *(f"- {line}" for line in lines)]))

    async def agenerate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        """Return the quoted strips under a label that says what they are. Spends nothing."""
        return self.generate(request, settings=settings, budget=budget)


def _one_line(text: str) -> str:
    return " ".join(text.split())
