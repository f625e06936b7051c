import json
from pathlib import Path
from typing import Any

import pytest

from crag_graph.errors import LoadError
from crag_graph.ingestion.loaders import LoadedPart, load


def loaded(tmp_path: Path, name: str, text: str | bytes) -> list[LoadedPart]:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return load(path)


@pytest.mark.case(98)
def test_every_cell_stands_beside_the_name_of_its_column(tmp_path: Path) -> None:
    rows = "".join(f"K{number},{number} Nm\n" for number in range(80))
    parts = loaded(tmp_path, "a.csv", f"part,torque\n{rows}")
    lines = [line for part in parts for line in part.text.split("\n")]
    assert lines == [f"part: K{number}; torque: {number} Nm" for number in range(80)]
    assert all(part.kind == "records" for part in parts)


def test_rows_are_numbered(tmp_path: Path) -> None:
    rows = "".join(f"K{number},{number} Nm\n" for number in range(1, 81))
    parts = loaded(tmp_path, "a.csv", f"part,torque\n{rows}")
    last = 0
    for part in parts:
        assert part.metadata["row"] == last + 1
        last = part.metadata.get("row_end", part.metadata["row"])
        assert part.text.startswith(f"part: K{part.metadata['row']};")
        assert part.text.endswith(f"torque: {last} Nm")
    assert last == 80


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.csv", "a;b\n1;2,5\n3;4\n", "a: 1; b: 2,5\na: 3; b: 4"),
        ("a.tsv", "a\tb\n1\tx, y\n", "a: 1; b: x, y"),
        ("a.csv", 'a,b\n"x, ""y""","line\nbreak"\n', 'a: x, "y"; b: line break'),
        ("a.csv", "1,2\n3,4\n", "column 1: 1; column 2: 2\ncolumn 1: 3; column 2: 4"),
        ("a.csv", "a,b\n1,,9\n", "a: 1; column 3: 9"),
        ("a.csv", "\n\nword\nvalue\n", "word: value"),
        ("b.csv", "sep=;\r\npart;torque\r\nK7;9 Nm\r\n", "part: K7; torque: 9 Nm"),
        ("b.csv", '"sep=|"\npart|torque\nK7|9 Nm\n', "part: K7; torque: 9 Nm"),
    ],
)
def test_tables_of_all_sorts(tmp_path: Path, name: str, text: str, expected: str) -> None:
    assert "\n".join(part.text for part in loaded(tmp_path, name, text)) == expected


def test_long_rows_take_a_line_for_each_cell(tmp_path: Path) -> None:
    (part,) = loaded(tmp_path, "a.csv", f"name,remark\nx,{'word ' * 100}\n")
    assert part.text == f"name: x\nremark: {'word ' * 99}word"


@pytest.mark.case(93)
def test_tables_from_windows_are_decoded(tmp_path: Path) -> None:
    (part,) = loaded(tmp_path, "a.csv", "Café,Größe\nMalmö,7 €\n".encode("cp1252"))
    assert part.text == "Café: Malmö; Größe: 7 €"
    assert part.metadata["encoding"] == "cp1252"


def test_a_cell_that_never_ends_is_reported(tmp_path: Path) -> None:
    for lines in (3, 100_000):
        with pytest.raises(LoadError, match="line 3 is no CSV: a quoted cell begins there"):
            loaded(tmp_path, "a.csv", 'a,b\n1,2\n"' + "x\n" * lines)


def test_lines_are_counted_from_the_one_that_names_the_delimiter(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="line 3 is no CSV"):
        loaded(tmp_path, "a.csv", 'sep=;\na;b\n1;"never ends\n')


def test_a_cell_may_be_as_long_as_the_file(tmp_path: Path) -> None:
    words = "word " * 60_000
    parts = loaded(tmp_path, "a.csv", f'name,remark\nx,"{words}"\ny,short\n')
    assert "word word" in parts[0].text
    assert "name: y; remark: short" in parts[-1].text


@pytest.mark.parametrize("text", ["a,b\n", "\n\n", "a,b\n,\n,\n"])
def test_a_table_without_rows_is_reported(tmp_path: Path, text: str) -> None:
    with pytest.raises(LoadError, match="it has no text"):
        loaded(tmp_path, "a.csv", text)


def test_records_of_a_json_list(tmp_path: Path) -> None:
    records = [
        {"name": "K7", "size": {"bar": 9, "ok": True}, "tags": ["a", "b"], "none": None},
        {"name": "K8", "parts": [{"id": 1}, {"id": 2}]},
    ]
    (part,) = loaded(tmp_path, "a.json", json.dumps(records))
    assert part.text == (
        "name: K7\nsize.bar: 9\nsize.ok: true\ntags: a, b\n\n"
        "name: K8\nparts[1].id: 1\nparts[2].id: 2"
    )
    assert part.metadata == {"row": 1, "row_end": 2}


def test_long_records_are_parts_of_their_own_and_prose(tmp_path: Path) -> None:
    lines = [json.dumps({"id": number, "text": "It closes. " * 90}) for number in (1, 2)]
    parts = loaded(tmp_path, "a.jsonl", "\n".join(lines))
    assert [(part.metadata, part.kind) for part in parts] == [
        ({"row": 1}, "prose"),
        ({"row": 2}, "prose"),
    ]


def test_large_objects_of_a_json_document_are_sections(tmp_path: Path) -> None:
    pump = {f"field{number}": "value of some length" for number in range(9)}
    document = {"version": 3, "pumps": {"K7": pump, "K8": {"a": 1}}, "small": {"x": {"y": 1}}}
    (part,) = loaded(tmp_path, "a.json", json.dumps(document))
    assert part.text.startswith("version: 3\nsmall.x.y: 1\n\npumps\nK8.a: 1\n\npumps.K7\nfield0: ")
    assert [(heading.level, heading.title) for heading in part.headings] == [
        (1, "pumps"),
        (2, "K7"),
    ]
    for heading in part.headings:
        assert part.text[heading.start : heading.end].endswith(heading.title)


@pytest.mark.parametrize(
    ("value", "text"),
    [("hello", "hello"), ([1, 2], "1, 2"), ({"a": [[1], [2]]}, "a[1]: 1\na[2]: 2"), (7, "7")],
)
def test_json_of_any_shape(tmp_path: Path, value: Any, text: str) -> None:
    assert loaded(tmp_path, "a.json", json.dumps(value))[0].text == text


def test_json_lines_under_the_plain_name(tmp_path: Path) -> None:
    (part,) = loaded(tmp_path, "a.json", '{"a": 1}\n{"a": 2}\n')
    assert part.text == "a: 1\na: 2"


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.json", '{"a": 1,\n"b": }', "not JSON: Expecting value in line 2, column 6"),
        ("a.json", '[{"a": 1}, {"a"', "not JSON"),
        ("a.jsonl", '{"a": 1}\n{"a": \n', "line 2 is not JSON"),
        ("a.json", "[" * 100_000, "damaged, or no .json file"),
        ("a.json", "{}", "it has no text"),
        ("a.json", "null", "it has no text"),
    ],
)
def test_what_is_no_json_is_reported(tmp_path: Path, name: str, text: str, reason: str) -> None:
    with pytest.raises(LoadError, match=reason):
        loaded(tmp_path, name, text)


@pytest.mark.case(56)
@pytest.mark.case(90)
def test_json_escapes_of_what_is_no_character_are_cleaned(tmp_path: Path) -> None:
    (part,) = loaded(tmp_path, "a.json", '{"a": "pump\\u0000 house \\ud83d \\ud83d\\ude00"}')
    assert part.text == "a: pump house \ufffd \U0001f600"
