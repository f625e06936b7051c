"""A small corpus, a small web, and questions whose right action and answer are known.

Everything in them is made up, so that a model cannot know an answer by heart: what it says right
comes from the evidence.
"""

import dataclasses
from collections.abc import Sequence

from crag_graph.settings import Aggregate, EvaluationMode
from crag_graph.state import Action
from crag_graph.text.terms import content_terms
from tests.fakes.web_servers_shapes import Page

CORPUS = {
    "ferry.md": """# The ferry to Orsk

The ferry to Orsk leaves Lund at 9:15 from the eastern pier, every day but Sunday. The crossing
takes 50 minutes. Bicycles travel free; dogs need a ticket for 3 crowns. In fog the ferry waits
until the harbour master gives it leave.
""",
    "lighthouse.md": """# The lighthouse of Orsk

The lighthouse of Orsk was built in 1887 by the engineer Maren Holt. It is 31 metres high and shows
two white flashes every 12 seconds. Since 1974 nobody lives in it. The tower may be climbed in July
and August.
""",
    "bakery.md": """# Holt's bakery

Holt's bakery on the market square of Lund opens at 6:30. Its rye bread rests for 20 hours before it
is baked. On Fridays it sells saffron buns, which are gone by noon.
""",
    "waterworks.md": """# The waterworks of Lund

The waterworks of Lund pump 1,400 cubic metres a day from three wells north of the town. Well 2 was
deepened to 85 metres in 2009. The water is hard and is not chlorinated. If pressure falls below 2
bar, the inlet valve closes first and the reserve pump starts after 40 seconds.
""",
    "museum.md": """# The museum of nets

The museum of nets in Lund keeps 212 fishing nets. The oldest one was knotted from nettle fibre. Its
curator is Tove Lindqvist. Entrance costs 8 crowns and is free for children.
""",
}
"""File names and their texts."""

WEB = (
    Page(
        url="https://port.example/orsk",
        title="Harbour works in Orsk",
        text="The eastern pier of Orsk was rebuilt in 2019. The works cost 4.6 million crowns and "
        "were paid for by the province.",
    ),
    Page(
        url="https://lights.example/orsk",
        title="Lighthouses of the coast",
        text="The lighthouse of Orsk was painted red and white in 1931. The lamp of the lighthouse "
        "of Orsk was switched to electricity in 1952.",
    ),
    Page(
        url="https://chess.example/open",
        title="Kolvik Open",
        text="The Kolvik Open is a chess tournament. The Kolvik Open of 2024 was won by Irja "
        "Sandell with 8 points from 9 rounds.",
    ),
    Page(
        url="https://peaks.example/mount-varg",
        title="Mount Varg",
        text="Mount Varg is 2,318 metres high. Mount Varg was first climbed in 1902 by Edda Brun.",
    ),
    Page(
        url="https://nets.example/tools",
        title="Tools of net makers",
        text="The museum of nets in Lund opened its doors in 1966 in a former rope works.",
    ),
)
"""What the web search finds: pages that complete the corpus, and pages about other things."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """A question with what is right about it.

    Attributes:
        name: Short, for the table.
        question: What is asked.
        actions: The right actions.
        answer: What a right answer holds, each in one of its spellings; empty: a refusal is right,
            or an answer that says the sources do not hold it.
        web: Whether the web may be searched.
        about: The file whose passage bears on the question; empty when none does.
        nothing: Whether retrieval is narrowed to documents that do not exist.
        aggregate: How its grades become one number, in place of the best of them.
    """

    name: str
    question: str
    actions: tuple[Action, ...]
    answer: tuple[tuple[str, ...], ...] = ()
    web: bool = True
    about: str = ""
    nothing: bool = False
    aggregate: Aggregate | None = None


_MIXED: tuple[Action, ...] = ("ambiguous", "incorrect")

CASES = (
    Case(
        name="ferry",
        question="When does the ferry to Orsk leave Lund?",
        actions=("correct",),
        answer=(("9:15",),),
        about="ferry.md",
    ),
    Case(
        name="valve",
        question="Which valve closes first when the pressure in the waterworks falls?",
        actions=("correct",),
        answer=(("inlet",),),
        about="waterworks.md",
    ),
    Case(
        name="engineer",
        question="Who built the lighthouse of Orsk, and in which year?",
        actions=("correct",),
        answer=(("Holt",), ("1887",)),
        about="lighthouse.md",
    ),
    Case(
        name="lamp",
        question="How high is the lighthouse of Orsk, and when was its lamp made electric?",
        actions=("ambiguous",),
        answer=(("31",), ("1952",)),
        about="lighthouse.md",
    ),
    Case(
        name="pier",
        question="When does the ferry to Orsk leave Lund, and when was the pier of Orsk rebuilt?",
        actions=("ambiguous",),
        answer=(("9:15",), ("2019",)),
        about="ferry.md",
        aggregate="mean",  # of one good passage among three: between the thresholds
    ),
    Case(
        name="museum",
        question="In which year did the museum of nets in Lund open?",
        actions=_MIXED,
        answer=(("1966",),),
        about="museum.md",
    ),
    Case(
        name="chess",
        question="Who won the Kolvik Open in 2024?",
        actions=("incorrect",),
        answer=(("Sandell",),),
    ),
    Case(
        name="peak",
        question="How high is Mount Varg?",
        actions=("incorrect",),
        answer=(("2,318", "2318", "2.318"),),
    ),
    Case(
        name="violin",
        question="Which strings does a baroque violin have?",
        actions=("incorrect",),
        web=False,
    ),
    Case(
        name="nothing",
        question="When does the night train to Varg leave?",
        actions=_MIXED,
        web=False,
        nothing=True,
    ),
)
STAGED = ("ferry", "lamp", "pier", "chess", "violin")
"""The cases that are also run in staged mode: each action, and one that ends in a refusal."""

SUITE: tuple[tuple[str, EvaluationMode], ...] = (
    ("ferry", "fused"),
    ("pier", "fused"),
    ("chess", "fused"),
    ("violin", "fused"),
    ("nothing", "fused"),
    ("pier", "staged"),
    ("chess", "staged"),
)
"""What the tests run; the command runs all."""


def find_pages(query: str) -> Sequence[Page]:
    """Return the pages that share words with `query`, those that share most first."""
    wanted = set(content_terms(query))

    def shared(page: Page) -> int:
        return len(wanted & set(content_terms(f"{page.title} {page.text}")))

    found = [page for page in WEB if shared(page)]
    return sorted(found, key=shared, reverse=True)[:3]
