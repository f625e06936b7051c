"""The answer without a language model: quoted, cited, in a readable order, and labelled."""

import datetime
from typing import Any

import pytest

from crag_graph.budget import Budget
from crag_graph.generation.base import Evidence, GenerationRequest
from crag_graph.generation.extractive import LABEL, ExtractiveGenerator
from crag_graph.settings import Settings


def evidence(number: int, *strips: tuple[str, float | None], **given: Any) -> Evidence:
    texts = tuple(text for text, _ in strips)
    return Evidence(
        number=number,
        text=" ".join(texts),
        strip_ids=tuple(f"{number}:{position}" for position in range(len(texts))),
        strips=texts,
        scores=tuple(score for _, score in strips),
        document_id=f"d{number}",
        origin="internal",
        source=f"d{number}.md",
        **given,
    )


def quoted(*items: Evidence) -> list[str]:
    request = GenerationRequest(
        question="?", action="correct", evidence=items, today=datetime.date(2026, 11, 30)
    )
    answer = ExtractiveGenerator().generate(request, settings=Settings(), budget=Budget()).answer
    label, *lines = answer.split("\n")
    assert label == LABEL
    return lines


def test_the_best_strips_come_in_the_order_of_the_sources():
    lines = quoted(
        evidence(1, ("First.", 0.7), ("Noise.", 0.1), ("Third.", 0.8)), evidence(2, ("Best.", 0.9))
    )
    assert lines == ["- First. [1]", "- Third. [1]", "- Best. [2]"]


def test_at_most_four_are_quoted():
    assert len(quoted(evidence(1, *((f"S{n}.", 0.9) for n in range(9))))) == 4


def test_strips_that_nobody_scored_are_quoted_when_there_are_no_others():
    assert quoted(evidence(1, ("One.", None), ("Two.", None))) == ["- One. [1]", "- Two. [1]"]


@pytest.mark.case(126)
def test_a_footnote_of_the_source_does_not_become_a_citation():
    assert quoted(evidence(1, ("Built in 1962.[7] Paid by Lund [1].", 0.9))) == [
        "- Built in 1962. Paid by Lund (1). [1]"
    ]


@pytest.mark.case(98)
def test_a_row_of_a_table_is_quoted_with_its_header():
    row = evidence(1, ("| K7 | 9 Nm |", 0.9), contexts=("Bolts\n| part | torque |",))
    assert quoted(row) == ["- | part | torque | | K7 | 9 Nm | [1]"]


def test_marks_of_markdown_are_not_quoted_but_the_heading_is():
    strips = (
        ("# Valves\n\n## Order\n\nThe inlet closes first.", 0.9),
        ("- The drain closes last.", 0.9),
        ("2. Wait for 3. to end.\n* Then go on.", 0.9),
        ("```\n# not a heading\n- not an item\n```", 0.9),
    )
    assert quoted(evidence(1, *strips)) == [
        "- Order: The inlet closes first. [1]",
        "- The drain closes last. [1]",
        "- 2. Wait for 3. to end. Then go on. [1]",
        "- `# not a heading` `- not an item` [1]",
    ]


def test_no_fence_is_quoted_and_each_line_of_code_is_code():
    first = "```python\nitems = x[1]\n# no heading\n" + "a = 1\n"
    last = "print(`a`)\n```"
    assert quoted(
        evidence(1, ("Run this:\n\n```bash\ngit add .\n\ngit commit\n```\nDone.", 0.9))
    ) == ["- Run this: `git add .` `git commit` Done. [1]"]
    assert quoted(evidence(1, (first, 0.9), (last, 0.9))) == [
        "- `items = x[1]` `# no heading` `a = 1` [1]",
        "- ``print(`a`)`` [1]",
    ]
    assert quoted(evidence(1, ("~~~\n`x`\n~~~", 0.9))) == ["- `` `x` `` [1]"]


def test_only_its_own_markers_are_citations():
    item = evidence(1, ("According to [2] (source 3), pumps fail.", 0.9))
    request = GenerationRequest(
        question="?",
        action="correct",
        evidence=(item, evidence(2, ("Valves.", 0.1))),
        today=datetime.date(2026, 11, 30),
    )
    made = ExtractiveGenerator().generate(request, settings=Settings(), budget=Budget())
    assert made.answer.endswith("\n- According to (2) (source 3), pumps fail. [1]")
    assert made.cited == (1,)


def test_a_strip_of_nothing_but_a_heading_is_quoted_as_that():
    assert quoted(evidence(1, ("## Order ##", 0.9))) == ["- Order [1]"]


def test_what_is_said_twice_behind_another_heading_is_quoted_once():
    said = "Interface to the compression library."
    lines = quoted(
        evidence(1, (f"# bz2\n{said}", 0.9)),
        evidence(2, (f"module: bz2; summary: {said}", 0.8), ("Port: 8443", 0.8)),
        evidence(3, (said, 0.7), ("TLS port: 8443", 0.7)),
    )
    assert lines == [f"- bz2: {said} [1]", "- Port: 8443 [2]", "- TLS port: 8443 [3]"]


def test_an_index_of_the_source_stays():
    assert quoted(evidence(1, ("The fourth item is arr[3].", 0.9))) == [
        "- The fourth item is arr[3]. [1]"
    ]
