import dataclasses

from langchain_core.documents import Document

from crag_graph.evaluators.base import Passage
from crag_graph.evaluators.grading import as_passages
from crag_graph.evaluators.local.pieces import read_passage, windows
from crag_graph.evaluators.local.question import Question, read_question
from crag_graph.models.local.minilm import MAX_TOKENS, shared_minilm

model = shared_minilm()


def question(text: str = "When was the Harwell dam built?") -> Question:
    return read_question(text, model.token_ids)


def passage(text: str, title: str = "") -> Passage:
    document = Document(id="p", page_content=text, metadata={"title": title})
    return as_passages([document], origin="internal")[0]


def test_windows_hold_every_strip_once_and_fit_the_encoder() -> None:
    text = " ".join(
        f"Sentence number {at} tells of pump {at} and of its valve." for at in range(60)
    )
    reading = read_passage(question(), passage(text, title="Pumps of the plant"))

    found = windows(reading, model.count_tokens)

    assert len(found) > 1
    assert [window.first for window in found[1:]] == [window.last + 1 for window in found[:-1]]
    assert (found[0].first, found[-1].last) == (0, len(reading.pieces) - 1)
    assert all(window.text.startswith("Pumps of the plant. ") for window in found)
    assert all(model.count_tokens(window.text) + 2 <= MAX_TOKENS for window in found)
    for window in found:
        first, last = reading.pieces[window.first], reading.pieces[window.last]
        assert window.text[len(window.lead) :] == text[first.start : last.start + len(last.text)]


def test_a_short_passage_is_read_whole() -> None:
    reading = read_passage(
        question(), passage("One sentence about it. Another sentence about that.")
    )
    assert reading.skipped == 0
    assert len(windows(reading, model.count_tokens)) == 1


def test_a_long_passage_is_read_at_its_start_and_where_the_terms_are() -> None:
    filler = [f"Report {at} lists the income of region {at} in a long table." for at in range(900)]
    filler[600] = "The Harwell dam was built in 1931."
    long = passage(" ".join(filler))
    reading = read_passage(question(), long)

    texts = [piece.text for piece in reading.pieces]
    assert texts[0] == filler[0]
    assert filler[600] in texts
    assert filler[599] in texts
    assert filler[601] in texts
    assert reading.skipped == len(long.strips) - len(texts) > 0
    assert sum(map(len, texts)) <= 6000
    assert [piece.start for piece in reading.pieces] == sorted(p.start for p in reading.pieces)
    assert not any(
        "income" in window.text and "Harwell" in window.text and window.first == 0
        for window in windows(reading, model.count_tokens)
    )


def test_a_long_passage_without_spaces_is_held_to_the_same_tokens() -> None:
    reading = read_passage(
        question("大坝是哪一年建成的？"), passage("这座大坝由县政府建成。" * 900)
    )
    assert sum(model.count_tokens(piece.text) for piece in reading.pieces) <= 1500
    assert reading.skipped > 0


def test_a_blank_passage_has_no_pieces() -> None:
    reading = read_passage(question(), passage(" \n"))
    assert reading.pieces == ()
    assert windows(reading, model.count_tokens) == []


def test_headings_and_table_headers_are_around_a_strip() -> None:
    rows = "\n".join(f"| K{at} | {at} Nm |" for at in range(1, 9))
    text = f"# Pumps\n\n## Bolts\n\n| part | torque |\n|---|---|\n{rows}"
    reading = read_passage(question(), passage(text, title="Manual"))

    assert {"pump", "bolt", "part", "torque", "manual"} <= reading.pieces[-1].around
    assert {"k8", "8", "nm"} <= reading.pieces[-1].terms


def test_an_echo_takes_its_terms_along() -> None:
    reading = read_passage(
        question(), passage("When was the Harwell dam built? Nobody alive can say.")
    )
    terms = frozenset().union(*(piece.terms for piece in reading.pieces))

    assert "harwell" not in terms
    assert "alive" in terms


def test_an_enormous_title_leaves_room_for_the_text() -> None:
    reading = read_passage(question(), passage("One sentence about it.", title="word " * 400))
    (window,) = windows(reading, model.count_tokens)
    assert window.text.endswith("One sentence about it.")
    assert model.count_tokens(window.text) < MAX_TOKENS


def test_strips_of_another_text_do_not_matter_when_blank() -> None:
    given = passage("One sentence about it.")
    blank = dataclasses.replace(
        given, strips=(*given.strips, {**given.strips[0], "id": "b", "text": " "})
    )
    assert len(read_passage(question(), blank).pieces) == 1
