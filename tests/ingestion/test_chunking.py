import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag_graph.errors import ConfigurationError
from crag_graph.ingestion.chunking import DEFAULT_SIZE, Chunk, Chunker
from crag_graph.ingestion.loaders import Heading, LoadedPart
from crag_graph.ingestion.token_counts import ESTIMATE, TokenCounter, counter_for
from crag_graph.text.clean import clean_text, is_blank

WORDS = TokenCounter(name="words", count=lambda text: len(text.split()))
PROSE = " ".join(f"Valve {n} of the pump house closes at {n} bar." for n in range(1, 41))


def words(**options: object) -> Chunker:
    return Chunker(counter=WORDS, **options)  # type: ignore[arg-type]


def cut(text: str, kind: str = "markdown", **options: object) -> list[Chunk]:
    part = LoadedPart(text=text, kind=kind)  # type: ignore[arg-type]
    return words(**options).chunk([part])


def check(chunks: list[Chunk], part: LoadedPart, chunker: Chunker) -> None:
    """What holds for every chunk of a part."""
    for position, chunk in enumerate(chunks):
        assert chunk.text == chunk.prefix + part.text[chunk.start : chunk.end]
        assert not is_blank(chunk.text)
        assert chunk.position == position
        assert chunker.counter(chunk.text) <= chunker.size


def test_a_chunk_knows_where_it_is() -> None:
    parts = [LoadedPart(text="One.", metadata={"page": 1}), LoadedPart(text="Two.\n\nThree.")]
    chunks = words().chunk(parts)
    assert [(chunk.part, chunk.start, chunk.end, chunk.position) for chunk in chunks] == [
        (0, 0, 4, 0),
        (1, 0, 12, 1),
    ]
    assert chunks[0].metadata == {"page": 1}


def test_chunks_are_filled_with_whole_sentences_up_to_the_size() -> None:
    chunks = cut(PROSE, "prose", size=30, overlap=0)
    assert len(chunks) == 14
    assert all(chunk.text.startswith("Valve") and chunk.text.endswith("bar.") for chunk in chunks)
    assert "".join(chunk.text for chunk in chunks).count("Valve") == 40


def test_the_overlap_is_whole_sentences_within_its_budget() -> None:
    chunks = cut(PROSE, "prose", size=45, overlap=12)
    for before, after in itertools.pairwise(chunks):
        shared = PROSE[after.start : before.end]
        assert re.fullmatch(r"Valve \d+ of the pump house closes at \d+ bar\.", shared)
    assert chunks[-1].end == len(PROSE)


def test_no_chunk_repeats_only_what_the_one_before_it_had() -> None:
    for size in range(20, 60):
        chunks = cut(PROSE, "prose", size=size, overlap=size // 2)
        assert [chunk.end for chunk in chunks] == sorted({chunk.end for chunk in chunks})


def test_the_heading_path_is_that_of_the_text() -> None:
    text = (
        f"# Manual\n\nIntro.\n\n## Pumps\n\n{PROSE}\n\n### *Care* of `K7`\n\nOil it.\n\n"
        "## Valves\n\nTwo."
    )
    chunks = cut(text, size=60, strategy="markdown")
    paths = [chunk.metadata["heading"] for chunk in chunks]
    assert paths[0] == "Manual"
    assert set(paths[1:-2]) == {"Manual > Pumps"}
    assert paths[-2:] == ["Manual > Pumps > Care of K7", "Manual > Valves"]


def test_underlined_headings_count_too() -> None:
    chunks = cut("Manual\n======\n\nIntro.\n\nPumps\n-----\n\nTwo.", strategy="markdown")
    assert [chunk.metadata["heading"] for chunk in chunks] == ["Manual", "Manual > Pumps"]


def test_markdown_begins_a_chunk_at_every_section() -> None:
    text = "# A\n\nOne.\n\n# B\n\nTwo.\n\n## C\n\nThree."
    assert [chunk.text for chunk in cut(text, strategy="markdown")] == [
        "# A\n\nOne.",
        "# B\n\nTwo.",
        "## C\n\nThree.",
    ]
    assert [chunk.text for chunk in cut(text, strategy="recursive")] == [text]


def test_a_heading_is_never_left_at_the_end_of_a_chunk() -> None:
    text = "\n\n".join(f"## Section {n}\n\n" + "Words of text. " * (n % 5 + 2) for n in range(40))
    for size in range(20, 50, 3):
        for chunk in cut(text, size=size):
            assert not re.search(r"## Section \d+$", chunk.text)


def test_a_caption_goes_with_what_it_announces() -> None:
    table = "| part | torque |\n| --- | --- |\n" + "| K7 | 9 Nm |\n" * 5
    for caption in ("**Table 4.2. Torques of parts**", "The torques are the following:"):
        chunks = cut(f"{'Filler words here. ' * 5}\n\n{caption}\n\n{table}", size=45)
        assert len(chunks) == 2
        assert chunks[1].text.startswith(caption)


def test_a_section_that_goes_on_repeats_its_heading() -> None:
    chunks = cut(f"# Manual\n\nIntro.\n\n## The pump house\n\n{PROSE}", size=60, overlap=0)
    assert len(chunks) > 3
    for chunk in chunks[2:]:
        assert chunk.prefix == "## The pump house\n"
        assert chunk.text.startswith("## The pump house\nValve")


@pytest.mark.case(98)
@pytest.mark.case(99)
def test_every_piece_of_a_table_has_its_header() -> None:
    header = "| part | torque |\n| --- | --- |"
    rows = [f"| K{n} | {n} Nm |" for n in range(80)]
    chunks = cut("\n".join(["# Torques", "", header, *rows]), size=60)
    assert len(chunks) > 5
    for chunk in chunks:
        assert header in chunk.text
    kept = [line for chunk in chunks for line in chunk.text.split("\n") if line.startswith("| K")]
    assert kept == rows
    (holder,) = [chunk for chunk in chunks if "| K7 |" in chunk.text]
    assert "| K7 | 7 Nm |" in holder.text
    assert "torque" in holder.text


@pytest.mark.case(99)
def test_a_table_that_fits_is_not_torn() -> None:
    table = "| part | torque |\n| --- | --- |\n" + "\n".join(f"| K{n} | {n} Nm |" for n in range(4))
    for filler in range(1, 40):
        chunks = cut("Some words. " * filler + f"\n\n{table}\n\nEnd.", size=60, overlap=0)
        assert any(table in chunk.text for chunk in chunks)


@pytest.mark.case(99)
def test_a_fence_that_fits_is_not_torn() -> None:
    fence = '```python\nprint("Really? Yes. No.")\n\n\nprint("Why? So.")\n```'
    for filler in range(1, 40):
        chunks = cut("Some words. " * filler + f"\n\n{fence}\n\nEnd.", size=40, overlap=0)
        assert any(fence in chunk.text for chunk in chunks)


@pytest.mark.case(99)
def test_a_fence_that_is_too_long_is_cut_at_blank_lines_and_says_its_language() -> None:
    functions = [f'def f{n}(x):\n    y = "Really? Yes. No."\n    return x, y' for n in range(20)]
    fence = "```python\n" + "\n\n".join(functions) + "\n```"
    chunks = cut(f"# Code\n\n{fence}", size=60)
    assert len(chunks) > 2
    for chunk in chunks:
        assert "```python" in chunk.text
    for function in functions:
        assert any(function in chunk.text for chunk in chunks)


def test_code_is_cut_between_functions_and_keeps_its_indentation() -> None:
    functions = [f"    def method_{n}(self, x):\n        return x * {n}" for n in range(30)]
    text = "class Pump:\n" + "\n\n".join(functions) + "\n"
    part = LoadedPart(text=text, kind="code", metadata={"language": "python"})
    chunker = words(size=40, overlap=0)
    chunks = chunker.chunk([part])
    check(chunks, part, chunker)
    assert len(chunks) > 3
    assert all(chunk.text.startswith(("    def", "class")) for chunk in chunks)
    for function in functions:
        assert any(function in chunk.text for chunk in chunks)


@pytest.mark.parametrize("language", ["perl", "nothing", "", "js", "rust", "lua"])
def test_code_of_any_language_is_cut(language: str) -> None:
    text = "\n\n".join(f"sub f{n} {{ return {n}; }}" for n in range(60))
    part = LoadedPart(text=text, kind="code", metadata={"language": language})
    chunks = words(size=30).chunk([part])
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(text.split())


def test_records_are_cut_between_lines() -> None:
    text = "\n".join(f"part: K{n}; torque: {n} Nm" for n in range(50))
    chunks = cut(text, "records", size=20, overlap=10)
    assert [line for chunk in chunks for line in chunk.text.split("\n")] == text.split("\n")


def test_sentences_come_in_windows_of_four_with_one_in_common() -> None:
    text = " ".join(f"This is sentence {n}." for n in range(1, 12))
    chunks = cut(text, "prose", strategy="sentences")
    numbers = [[int(n) for n in re.findall(r"\d+", chunk.text)] for chunk in chunks]
    assert numbers == [[1, 2, 3, 4], [4, 5, 6, 7], [7, 8, 9, 10], [10, 11]]


def test_sentences_may_be_counted_otherwise() -> None:
    text = " ".join(f"This is sentence {n}." for n in range(1, 6))
    chunks = cut(text, "prose", strategy="sentences", sentences=2, sentence_overlap=0)
    assert [chunk.text.count("sentence") for chunk in chunks] == [2, 2, 1]


@pytest.mark.case(87)
@pytest.mark.parametrize("strategy", ["recursive", "markdown", "sentences"])
def test_no_chunk_is_blank(strategy: str) -> None:
    texts = [
        "# A\n\n\n\n# B\n",
        "Good.",
        " \n " * 500,
        "\n\n---\n\n",
        "\u200b\n\n\u200b",
        "Also good.",
    ]
    parts = [LoadedPart(text=text, kind="markdown") for text in texts]
    chunks = words(strategy=strategy).chunk(parts)
    assert [chunk.text for chunk in chunks if chunk.part in (0, 1, 5)] == [
        "# A\n\n\n\n# B",
        "Good.",
        "Also good.",
    ]
    assert not any(is_blank(chunk.text) for chunk in chunks)


@pytest.mark.case(115)
def test_what_a_document_says_again_word_for_word_is_one_chunk() -> None:
    licence = "Permission is hereby granted to use this pump."
    parts = [
        LoadedPart(text=text, metadata={"page": page})
        for page, text in enumerate(["One.", licence, f"{licence}\n", "Two.", licence], start=1)
    ]
    chunks = words().chunk(parts)
    assert [(chunk.text, chunk.metadata["page"]) for chunk in chunks] == [
        ("One.", 1),
        (licence, 2),
        ("Two.", 4),
    ]
    assert [chunk.position for chunk in chunks] == [0, 1, 2]


def test_headings_of_a_part_without_marks_are_used() -> None:
    text = "1 Pumps\nA pump is here.\nValves\nA valve is here."
    headings = (
        Heading(start=0, end=0, level=1, title="Part II"),
        Heading(start=0, end=7, level=2, title="Pumps"),
        Heading(start=24, end=30, level=2, title="Valves"),
    )
    part = LoadedPart(text=text, headings=headings)
    first, second = words(strategy="markdown").chunk([part])
    assert (first.text, first.metadata["heading"]) == (
        "1 Pumps\nA pump is here.",
        "Part II > Pumps",
    )
    assert (second.text, second.metadata["heading"]) == (
        "Valves\nA valve is here.",
        "Part II > Valves",
    )


@pytest.mark.case(94)
@pytest.mark.case(100)
@pytest.mark.parametrize(
    "text",
    [
        "a" * 500_000,
        ". " * 100_000,
        "(" * 50_000,
        "水泵站的阀门在压力超过三巴时关闭。" * 5_000,
        "var a=function(b){return b+1};" * 15_000,
        "|" * 100_000,
        "| a " * 50_000 + "\n" + "|---" * 50_000,
        "#" * 100_000,
        "> " * 50_000,
    ],
)
@pytest.mark.parametrize("kind", ["prose", "markdown", "code", "records"])
def test_monstrous_lines_are_cut_into_chunks_that_fit(text: str, kind: str) -> None:
    part = LoadedPart(text=text, kind=kind)  # type: ignore[arg-type]
    chunker = Chunker()
    chunks = chunker.chunk([part])
    check(chunks, part, chunker)
    assert all(len(chunk.text) <= 4 * DEFAULT_SIZE + 200 for chunk in chunks)


FRAGMENTS = st.sampled_from(
    [
        "# Heading\n",
        "Title\n=====\n",
        "- item one\n",
        "| a | b |\n",
        "|---|---|\n",
        "```python\n",
        "```\n",
        "The pump closes. ",
        "Why? ",
        "\n",
        "\n\n",
        "    code()\n",
        "水泵关闭。",
        "x" * 90,
        " ",
        "key: value\n",
    ]
)


@given(
    pieces=st.lists(st.one_of(FRAGMENTS, st.text(max_size=12)), max_size=60),
    kind=st.sampled_from(["prose", "markdown", "code", "records"]),
    strategy=st.sampled_from(["recursive", "markdown", "sentences"]),
    size=st.integers(20, 80),
)
def test_nothing_visible_is_lost_and_nothing_is_too_long(
    pieces: list[str], kind: str, strategy: str, size: int
) -> None:
    text = clean_text("".join(pieces))
    part = LoadedPart(text=text, kind=kind)  # type: ignore[arg-type]
    chunker = Chunker(strategy=strategy, size=size, overlap=size // 4)  # type: ignore[arg-type]
    units = [unit for packed in chunker._packed(part) for unit in packed.units]
    covered = {at for unit in units for at in range(unit.start, unit.end)}
    assert [c for at, c in enumerate(text) if at not in covered and not c.isspace()] == []
    check(chunker.chunk([part]), part, chunker)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "semantic"}, "'semantic' is not known"),
        ({"size": 5}, "chunk size 5 is too small"),
        ({"size": 40, "overlap": 21}, "between 0 and half of the size, 20"),
        ({"overlap": -1}, "chunk overlap -1"),
        ({"sentences": 2, "sentence_overlap": 2}, "sentence overlap 2"),
    ],
)
def test_impossible_settings_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        words(**options)


def test_the_fingerprint_tells_chunkers_apart_and_is_stable() -> None:
    assert Chunker().fingerprint == Chunker().fingerprint
    assert Chunker().fingerprint == "chunks-1 recursive size=200 overlap=32 tokens=estimate"
    others = [
        Chunker(size=100),
        Chunker(overlap=0),
        Chunker(strategy="markdown"),
        Chunker(strategy="sentences"),
        Chunker(strategy="sentences", sentences=5),
        Chunker(strategy="sentences", sentence_overlap=2),
        words(),
    ]
    assert len({chunker.fingerprint for chunker in [Chunker(), *others]}) == 8


class Tokenized:
    name = "tiny"
    max_tokens = 66

    def count_tokens(self, text: str) -> int:
        return len(text)


def test_the_models_own_tokenizer_and_limit_are_used() -> None:
    chunker = Chunker.for_embeddings(Tokenized())
    assert chunker.fingerprint == "chunks-1 recursive size=64 overlap=16 tokens=tiny"
    assert Chunker.for_embeddings(Tokenized(), size=50).size == 50
    assert Chunker.for_embeddings(object()).counter is ESTIMATE


def test_words_are_counted_once() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return 2

    counter = TokenCounter(name="x", count=count)
    assert counter("pump valve pump  pump\nvalve") == 10
    assert asked == ["pump", "valve"]


def test_a_word_beyond_all_measure_counts_by_its_length() -> None:
    counter = TokenCounter(name="x", count=lambda _: 1)  # one unknown token, as WordPiece says
    assert counter("a" * 4000) == 1000


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("the pump", 2),
        ("don't", 3),
        ("1911", 2),
        ("水泵站", 3),
        ("internationalisation", 5),
    ],
)
def test_the_estimate(text: str, tokens: int) -> None:
    assert ESTIMATE(text) == tokens


def test_counters_need_both_a_name_and_a_count() -> None:
    assert counter_for(Tokenized()).name == "tiny"
    assert counter_for("text") is ESTIMATE
