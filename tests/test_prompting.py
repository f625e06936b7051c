import re

import pytest

from crag_graph.agents.turns import ChatSettings
from crag_graph.errors import ConfigurationError
from crag_graph.prompting import NAMES, Prompt, Prompts, packaged_folder

VALUES = {
    "question": "Which valve?",
    "passages": "<p>A</p>",
    "evidence": "<e>A</e>",
    "fence": "passage-0a1b",
    "today": "2026-11-30",
    "queries": "one query",
    "history": "User: Which pump?",
}


@pytest.mark.parametrize("name", NAMES)
def test_every_prompt_of_the_package_renders_without_a_variable_left(name):
    messages = Prompts().load(name).render(**VALUES)
    assert [message.type for message in messages] == ["system", "human"]
    text = "\n".join(message.content for message in messages)
    assert not re.search(r"\$\w", text)
    assert "Variables:" not in text
    assert "Which valve?" in messages[1].content


@pytest.mark.parametrize("name", NAMES)
def test_the_header_of_each_file_tells_exactly_its_variables(name):
    raw = (packaged_folder() / f"{name}.md").read_text(encoding="utf-8")
    header = raw[: raw.index("-->")]
    body = raw[raw.index("-->") :]
    assert set(re.findall(r"\$(\w+)", header)) == set(re.findall(r"\$(\w+)", body))


def test_every_file_is_known_and_every_prompt_can_be_set_for_a_run():
    files = {path.stem for path in packaged_folder().glob("*.md")}
    assert files == set(NAMES)
    assert {f"prompt_{name}" for name in NAMES} <= set(ChatSettings.model_fields)


def test_the_studio_shows_an_editor_for_each_prompt():
    properties = ChatSettings.model_json_schema()["properties"]
    assert all(properties[f"prompt_{name}"]["langgraph_type"] == "prompt" for name in NAMES)


@pytest.mark.case(101)
def test_braces_and_dollars_in_values_mean_nothing():
    question = 'What does {context} mean in {"a": {0}}, and $passages, $$, ${today}?'
    passage = "function(){ return {x} } costs $fence or $question"
    prompt = Prompt(name="evaluate", system="Today is $today.", user="$question\n$passages")
    system, user = prompt.render(question=question, passages=passage, today="2026-11-30")
    assert user.content == f"{question}\n{passage}"
    assert system.content == "Today is 2026-11-30."


@pytest.mark.case(101)
def test_a_text_of_ones_own_may_hold_json_and_dollar_signs():
    own = 'Answer as {"score": 1}. It costs $5, $$6 and $USD.'
    system, user = Prompts().load("evaluate", override=own).render(**VALUES)
    assert system.content == 'Answer as {"score": 1}. It costs $5, $6 and $USD.'
    assert "<p>A</p>" in user.content


def test_an_override_without_a_user_part_keeps_that_of_the_file():
    given = Prompts().load("rewrite")
    own = Prompts().load("rewrite", override="Write keywords.")
    assert own.user == given.user
    assert own.system == "Write keywords."
    assert own.hash != given.hash


def test_an_override_may_replace_both_parts():
    own = "<!-- mine -->\nBe strict.\n<!-- user -->\nQ: $question\nP: $passages"
    system, user = Prompts().load("grade", override=own).render(**VALUES)
    assert (system.content, user.content) == ("Be strict.", "Q: Which valve?\nP: <p>A</p>")


def test_no_system_text_means_no_system_message():
    own = "<!-- user -->\nQ: $question\nP: $passages"
    assert [m.type for m in Prompts().load("grade", override=own).render(**VALUES)] == ["human"]


def test_a_folder_replaces_the_files_that_it_holds_at_each_call(tmp_path):
    prompts = Prompts.from_env({"CRAG_PROMPTS": str(tmp_path)})
    assert prompts.load("grade") == Prompts().load("grade")
    (tmp_path / "grade.md").write_text("One.\n<!-- user -->\n$question $passages", encoding="utf-8")
    assert prompts.load("grade").system == "One."
    (tmp_path / "grade.md").write_text("Two.\n<!-- user -->\n$question $passages", encoding="utf-8")
    assert prompts.load("grade").system == "Two."
    assert prompts.load("refine") == Prompts().load("refine")


def test_blank_names_no_folder():
    assert Prompts.from_env({"CRAG_PROMPTS": " "}) == Prompts()


@pytest.mark.parametrize("missing", ["question", "passages"])
def test_a_prompt_without_what_it_needs_is_refused_by_name(missing):
    own = "Grade.\n<!-- user -->\n" + " ".join(f"${v}" for v in NAMES["grade"] if v != missing)
    with pytest.raises(ConfigurationError, match=rf"'grade' lacks the variable \${missing}"):
        Prompts().load("grade", override=own)


def test_a_folder_that_is_none_and_a_file_that_is_not_text_are_one_sentence(tmp_path):
    with pytest.raises(ConfigurationError, match="CRAG_PROMPTS"):
        Prompts(tmp_path / "nowhere").load("grade")
    (tmp_path / "grade.md").write_bytes(b"\xff\xfe\x00x")
    with pytest.raises(ConfigurationError, match=r"grade\.md.*not UTF-8"):
        Prompts(tmp_path).load("grade")


def test_the_hash_follows_from_the_text():
    one = Prompt(name="grade", system="a", user="b")
    assert one.hash == Prompt(name="other", system="a", user="b").hash
    assert one.hash != Prompt(name="grade", system="ab", user="").hash
    assert re.fullmatch("[0-9a-f]{12}", one.hash)


def test_a_prompt_is_fresh_for_a_second_and_then_read_again(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("crag_graph.prompting.time.monotonic", lambda: now[0])
    prompts = Prompts(tmp_path)
    assert prompts.fresh("grade") is None
    (tmp_path / "grade.md").write_text("One.\n<!-- user -->\n$question $passages", encoding="utf-8")
    loaded = prompts.load("grade")
    assert prompts.fresh("grade") is loaded
    assert prompts.fresh("grade", override="Mine.") is None
    now[0] += 1.5
    assert prompts.fresh("grade") is None
