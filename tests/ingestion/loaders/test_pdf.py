from pathlib import Path

import pytest

from crag_graph.errors import LoadError
from crag_graph.ingestion.loaders import LoadedPart, load, parse
from tests.fakes.documents import pdf_bytes


def loaded(data: bytes) -> list[LoadedPart]:
    return parse(Path("manual.pdf"), data)


def test_each_page_is_a_part_with_its_number() -> None:
    parts = loaded(pdf_bytes(["The pump.\nIts valve.", "The ferry."]))
    assert [(part.metadata["page"], part.text) for part in parts] == [
        (1, "The pump.\nIts valve."),
        (2, "The ferry."),
    ]


def test_the_document_information_gives_title_and_date() -> None:
    info = {"Title": "Pump manual", "CreationDate": "D:20240131120000Z"}
    (part,) = loaded(pdf_bytes(["Text."], info=info))
    assert part.metadata == {"title": "Pump manual", "published": "2024-01-31", "page": 1}


@pytest.mark.parametrize("title", ["Microsoft Word - draft", "draft3.docx", " "])
def test_a_title_that_a_converter_made_up_is_none(title: str) -> None:
    (part,) = loaded(pdf_bytes(["Text."], info={"Title": title}))
    assert "title" not in part.metadata


@pytest.mark.case(90)
def test_nul_bytes_are_removed_from_text_and_information() -> None:
    (part,) = loaded(pdf_bytes(["pump\x00 house"], info={"Title": "Scan\x00ner"}))
    assert part.metadata["title"] == "Scanner"
    assert "\x00" not in part.text


def test_the_outline_gives_headings_that_last_over_pages() -> None:
    pages = ["1 Pumps\nA pump.", "Still pumps.", "2 Valves\nA valve."]
    parts = loaded(pdf_bytes(pages, outline=["Pumps", "Pumps in detail", "Valves"]))
    found = [[(heading.start, heading.title) for heading in part.headings] for part in parts]
    assert found == [
        [(0, "Pumps")],
        [(0, "Pumps"), (0, "Pumps in detail")],
        [(0, "Pumps in detail"), (0, "Valves")],
    ]
    assert parts[0].text[: parts[0].headings[0].end] == "1 Pumps"


def test_running_titles_and_page_numbers_are_dropped() -> None:
    pages = [f"Handbook {n}\nText of page {n} is here.\nPage {n} of 9" for n in range(1, 10)]
    assert [part.text for part in loaded(pdf_bytes(pages))] == [
        f"Text of page {n} is here." for n in range(1, 10)
    ]


def test_totals_at_the_bottom_of_invoices_are_kept() -> None:
    pages = [f"Invoice {n * 31 % 17} of Lund Ferries\nTotal {n * 37}" for n in range(1, 8)]
    assert [part.text for part in loaded(pdf_bytes(pages))] == pages


def test_dots_that_lead_to_page_numbers_are_shortened() -> None:
    (part,) = loaded(pdf_bytes(["Valves . . . . . . . . . . . . . . . 12\nText."]))
    assert part.text.split("\n")[0].split() == ["Valves", "…", "12"]


@pytest.mark.case(89)
def test_a_scan_is_reported() -> None:
    with pytest.raises(LoadError, match=r"no text layer \(a scan\?\)") as caught:
        loaded(pdf_bytes(["", "  "]))
    assert caught.value.path == "manual.pdf"


@pytest.mark.case(89)
def test_pages_without_text_among_others_are_left_out() -> None:
    assert [part.metadata["page"] for part in loaded(pdf_bytes(["One.", "", "Three."]))] == [1, 3]


def test_an_encrypted_file_is_reported() -> None:
    data = pdf_bytes(["Secret."])
    lock = b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >> /ID [<00> <00>] " % (
        b"11" * 32,
        b"22" * 32,
    )
    data = data.replace(b"trailer\n<< ", b"trailer\n<< " + lock)
    with pytest.raises(LoadError, match="encrypted"):
        loaded(data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"%PDF-1.7\n" + bytes(100), "damaged or cut off"),
        (pdf_bytes(["Text of a page."])[:120], "damaged or cut off"),
        (b"<!DOCTYPE html><html><body>Please sign in</body>", "not a PDF but an HTML page"),
        (b"just text", "not a PDF but text"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "not a PDF but a PNG image"),
    ],
)
def test_what_is_no_whole_pdf_is_reported(data: bytes, reason: str) -> None:
    with pytest.raises(LoadError, match=reason):
        loaded(data)


def test_a_file_on_disk_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "MANUAL.PDF"
    path.write_bytes(pdf_bytes(["The pump."]))
    assert load(path)[0].text == "The pump."
