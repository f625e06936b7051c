from pathlib import Path

import docx
import pytest
from docx.oxml import parse_xml

from crag_graph.errors import LoadError
from crag_graph.ingestion.loaders import load, parse
from tests.fakes.documents import write_docx, zip_bytes

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def paragraph(inner: str) -> str:
    return f"<w:p {W}>{inner}</w:p>"


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def text_of(tmp_path: Path, *blocks: str) -> str:
    document = docx.Document()
    body = document.element.body
    for at, block in enumerate(blocks):
        body.insert(at, parse_xml(block))
    path = tmp_path / "a.docx"
    document.save(str(path))
    return load(path)[0].text


def test_headings_lists_and_tables_become_markdown(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    write_docx(
        path,
        [
            ("Title", "Pump manual"),
            ("Heading 1", "Valves"),
            ("Normal", "They close."),
            ("Heading 2", "Kinds"),
            ("List Bullet", "inlet"),
            ("List Bullet", "outlet"),
        ],
        table=[("part", "torque"), ("K7", "9 | 10 Nm")],
    )
    (part,) = load(path)
    assert part.kind == "markdown"
    assert part.text == (
        "# Pump manual\n\n# Valves\n\nThey close.\n\n## Kinds\n\n- inlet\n- outlet\n\n"
        "| part | torque |\n| --- | --- |\n| K7 | 9 \\| 10 Nm |"
    )


def test_core_properties_give_title_and_date(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("Text.")
    document.core_properties.title = "Pump\x20manual"
    path = tmp_path / "a.docx"
    document.save(str(path))
    metadata = load(path)[0].metadata
    assert metadata["title"] == "Pump manual"
    assert metadata["published"] == "2013-12-23"  # when python-docx's template was made


def test_what_python_docx_passes_over_is_read(tmp_path: Path) -> None:
    control = f"<w:sdt {W}><w:sdtContent>{paragraph(run('In a control.'))}</w:sdtContent></w:sdt>"
    inserted = paragraph(f'<w:ins w:id="1" w:author="a">{run("Inserted.")}</w:ins>')
    deleted = paragraph(
        f'{run("Kept.")}<w:del w:id="2" w:author="a"><w:r><w:delText>Gone.</w:delText></w:r>'
        "</w:del>"
    )
    box = paragraph(
        f"{run('Anchor.')}<w:r><w:pict><w:txbxContent>{paragraph(run('Boxed.'))}"
        "</w:txbxContent></w:pict></w:r>"
    )
    spaced = paragraph(
        f"{run('one')}<w:r><w:tab/></w:r>{run('two')}<w:r><w:br/></w:r>{run('three')}"
    )
    text = text_of(tmp_path, control, inserted, deleted, box, spaced)
    assert text == "In a control.\n\nInserted.\n\nKept.\n\nAnchor.\n\nBoxed.\n\none two\nthree"


def test_styles_of_ones_own_are_headings_by_their_outline_level(tmp_path: Path) -> None:
    document = docx.Document()
    for name, base, outline in (("Kapitel", None, "1"), ("Kapitel klein", "Kapitel", None)):
        style = document.styles.add_style(name, docx.enum.style.WD_STYLE_TYPE.PARAGRAPH)
        if base is not None:
            style.base_style = document.styles[base]
        if outline is not None:
            style.element.get_or_add_pPr().append(
                parse_xml(f'<w:outlineLvl {W} w:val="{outline}"/>')
            )
        document.add_paragraph(f"{name} 1", style=name)
    path = tmp_path / "a.docx"
    document.save(str(path))
    assert load(path)[0].text == "## Kapitel 1\n\n## Kapitel klein 1"


def test_merged_cells_say_their_text_once(tmp_path: Path) -> None:
    document = docx.Document()
    table = document.add_table(rows=3, cols=3)
    for row in table.rows:
        for at, cell in enumerate(row.cells):
            cell.text = f"c{at}"
    table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
    table.cell(1, 2).merge(table.cell(2, 2)).text = "tall"
    path = tmp_path / "a.docx"
    document.save(str(path))
    assert load(path)[0].text.split("\n") == [
        "| wide |  | c2 |",
        "| --- | --- | --- |",
        "| c0 | c1 | tall |",
        "| c0 | c1 |  |",
    ]


def test_footnotes_stand_where_they_are_referred_to(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("Valves close.")
    body = document.element.body
    body[0].append(parse_xml(f'<w:r {W}><w:footnoteReference w:id="2"/></w:r>'))
    notes = (
        f"<w:footnotes {W}>"
        f'<w:footnote w:type="separator" w:id="1">{paragraph(run("-"))}</w:footnote>'
        f'<w:footnote w:id="2">{paragraph(run("At 3 bar."))}</w:footnote></w:footnotes>'
    )
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    part = docx.opc.part.Part(
        docx.opc.packuri.PackURI("/word/footnotes.xml"), kind, notes.encode(), document.part.package
    )
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
    document.part.relate_to(part, relation)
    path = tmp_path / "a.docx"
    document.save(str(path))
    assert load(path)[0].text == "Valves close. (Note: At 3 bar.)"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "an old or encrypted one"),
        (b"%PDF-1.4 ...", "not a Word document but a PDF"),
        (b"PK\x03\x04" + bytes(100), "damaged or cut off"),
        (zip_bytes({"hello.txt": "no document"}), "damaged, or no .docx file"),
        (b"plain text", "not a Word document but text"),
    ],
)
def test_what_is_no_word_document_is_reported(data: bytes, reason: str) -> None:
    with pytest.raises(LoadError, match=reason):
        parse(Path("a.docx"), data)


def test_a_document_without_text_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    write_docx(path, [])
    with pytest.raises(LoadError, match="it has no text"):
        load(path)


def test_a_document_that_was_cut_off_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    write_docx(path, [("Normal", "Text.")])
    data = path.read_bytes()
    with pytest.raises(LoadError, match="damaged or cut off"):
        parse(path, data[: len(data) // 2])
