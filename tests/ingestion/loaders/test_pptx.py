from pathlib import Path

import pytest
from pptx import Presentation
from pptx.util import Inches

from crag_graph.errors import LoadError
from crag_graph.ingestion.loaders import load
from tests.fakes.documents import write_pptx


def test_each_slide_is_a_part_with_its_number_and_title(tmp_path: Path) -> None:
    path = tmp_path / "a.pptx"
    write_pptx(path, [("Pumps", "Two of them."), ("Valves", "inlet\noutlet\nrelief")])
    parts = load(path)
    assert [part.metadata["slide"] for part in parts] == [1, 2]
    assert parts[0].text == "# Pumps\n\nTwo of them."
    assert parts[1].text == "# Valves\n\n- inlet\n- outlet\n- relief"
    assert "title" not in parts[0].metadata  # only the program's own


def test_notes_tables_and_groups_are_read_in_the_order_of_the_slide(tmp_path: Path) -> None:
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_textbox(Inches(1), Inches(5), Inches(2), Inches(1)).text_frame.text = "below"
    slide.shapes.add_textbox(Inches(1), Inches(1), Inches(2), Inches(1)).text_frame.text = "above"
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(3), Inches(4), Inches(1)).table
    for at, text in enumerate(("part", "torque", "K7", "9 Nm")):
        table.cell(at // 2, at % 2).text = text
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(Inches(1), Inches(6), Inches(2), Inches(1)).text_frame.text = "grouped"
    slide.notes_slide.notes_text_frame.text = "Say it slowly."
    path = tmp_path / "a.pptx"
    deck.save(str(path))
    assert load(path)[0].text == (
        "above\n\n| part | torque |\n| --- | --- |\n| K7 | 9 Nm |\n\nbelow\n\ngrouped\n\n"
        "Notes: Say it slowly."
    )


@pytest.mark.case(90)
def test_control_characters_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "a.pptx"
    write_pptx(path, [("Pump\x0bhouse", "one\x0btwo")])
    assert not {"\x0b", "\x00"} & set(load(path)[0].text)


def test_slides_without_text_are_left_out_and_a_deck_of_them_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.pptx"
    write_pptx(path, [("", ""), ("Pumps", "Two.")])
    assert [part.metadata["slide"] for part in load(path)] == [2]
    write_pptx(path, [("", "")])
    with pytest.raises(LoadError, match="it has no text"):
        load(path)
