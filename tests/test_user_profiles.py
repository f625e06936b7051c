"""A user's own profiles: read from the data folder, checked, kept, and never mixed up."""

import asyncio
import dataclasses
import os
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from crag_graph.errors import ConfigurationError
from crag_graph.graph import build_graph
from crag_graph.settings import PROFILES, Settings
from crag_graph.settings.user_profiles import UserProfiles, read_profile
from tests.fakes.collaborators import StubEvaluator, services

GOOD = 'upper = 0.6\nlower = 0.2\n[provenance]\nlabels = 40\nlabels_file = "l.csv"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "profiles"
    folder.mkdir()
    return folder


def put(folder: Path, text: str, name: str = "mine") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_own_profiles_stand_beside_the_built_in_ones(folder: Path):
    put(folder, GOOD)
    put(folder, "scale = 'five_point'\nupper = 4\nlower = 2\n", name="stars")
    profiles = UserProfiles(folder)
    assert list(profiles) == [*PROFILES, "mine", "stars"]
    assert Settings(profile="mine").thresholds(profiles).upper == 0.6
    assert Settings(profile="stars").thresholds(profiles).upper == 0.75
    assert Settings(profile="mine").thresholds(profiles).provenance == (
        "calibrated on 40 labels of l.csv"
    )
    assert profiles["general"] is PROFILES["general"]


def test_an_unknown_name_is_refused_with_all_there_are(folder: Path):
    put(folder, GOOD)
    with pytest.raises(ConfigurationError, match=r"there is no 'nope'; there are .*general.*mine"):
        Settings(profile="nope").thresholds(UserProfiles(folder))


@pytest.mark.parametrize("name", ["../secret", "a/b", "..", "mine.toml/..", "C:\\x", "/etc/passwd"])
def test_a_name_leads_out_of_no_folder(folder: Path, name: str):
    put(folder.parent, GOOD, name="secret")
    with pytest.raises(ConfigurationError, match="there is no"):
        Settings(profile=name).thresholds(UserProfiles(folder))


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path):
    assert list(UserProfiles(tmp_path / "none")) == list(PROFILES)


def test_a_built_in_name_cannot_be_taken(folder: Path):
    put(folder, GOOD, name="general")
    profiles = UserProfiles(folder)
    assert profiles["general"] is PROFILES["general"]
    assert list(profiles) == list(PROFILES)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("upper = 0.6", "lower: it is missing"),
        ("upper = 'high'\nlower = 0.1", "upper: a number is needed, not 'high'"),
        ("upper = true\nlower = 0.1", "upper: a number is needed, not True"),
        ("upper = 1.5\nlower = 0.1", "upper: 1.5 is not between 0 and 1"),
        ("upper = nan\nlower = 0.1", "upper: nan is not between"),
        ("upper = 0.1\nlower = 0.5", "lower (0.5) is above upper (0.1)"),
        ("upper = 0.6\nlower = 0.1\nuper = 3", "uper: there is no such field"),
        ("upper = 0.6\nlower = 0.1\nscale = 'stars'", "scale: it must be one of unit"),
        ("upper = 0.6\nlower = 0.1\naggregate = ['max']", "aggregate: it must be one of max"),
        ("upper = 0.6\nlower = 0.1\nmin_relevant_docs = 0", "min_relevant_docs: a whole number"),
        ("upper = 0.6\nlower = 0.1\nname = 'other'", "name: it is 'other', but the file is"),
        ("upper = 0.6\nlower = 0.1\nprovenance = 3", "provenance: a table or a text"),
        ("upper = 0.6\nlower = 0.1\n[provenance]\nevaluator = 1", "provenance.evaluator: a text"),
        ("upper = = 1", "not TOML"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_one_sentence_with_file_and_field(folder, text: str, sentence: str):
    path = put(folder, text)
    with pytest.raises(ConfigurationError) as caught:
        read_profile(path)
    assert caught.value.message.startswith(f"profile {path}: {sentence}")
    assert "\n" not in caught.value.message


def test_bytes_that_are_no_text_are_one_sentence(folder: Path):
    path = put(folder, "")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="not TOML"):
        read_profile(path)


def test_a_file_is_read_once_and_again_when_it_changed(folder: Path):
    path = put(folder, GOOD)
    profiles = UserProfiles(folder)
    assert profiles["mine"] is profiles["mine"]
    put(folder, GOOD.replace("0.6", "0.7"))
    os.utime(path, (1, 1))
    assert profiles["mine"].upper == 0.6  # a run goes on as it began
    assert profiles.refresh("mine")
    assert not profiles.refresh("mine")
    assert profiles["mine"].upper == 0.7
    path.unlink()
    assert profiles.refresh("mine")
    assert "mine" not in profiles


def graph_with(folder: Path, evaluator: StubEvaluator | None = None):
    made = services(
        profiles=UserProfiles(folder), evaluator=evaluator or StubEvaluator(lambda _: 0.65)
    )
    return build_graph(made)


def test_the_next_run_sees_a_changed_profile(folder: Path):
    path = put(folder, GOOD)
    graph, settings = graph_with(folder), Settings(profile="mine")
    assert graph.invoke({"question": "q"}, context=settings)["action"] == "correct"
    put(folder, GOOD.replace("0.6", "0.7"))
    os.utime(path, (1, 1))
    assert graph.invoke({"question": "q"}, context=settings)["action"] == "ambiguous"


async def test_no_file_is_read_on_the_event_loop(folder: Path):
    put(folder, GOOD)
    graph = graph_with(folder)
    with blockbuster_ctx("crag_graph"):
        found = await graph.ainvoke({"question": "q"}, context={"profile": "mine"})
        with pytest.raises(ConfigurationError, match="there are"):
            await graph.ainvoke({"question": "q"}, context={"profile": "nope"})
        many = await asyncio.gather(
            *(graph.ainvoke({"question": "q"}, context={"profile": "mine"}) for _ in range(8))
        )
    assert {found["action"], *(each["action"] for each in many)} == {"correct"}


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("evaluator", "fingerprint", "warning"),
    [
        ("", "", ""),
        ("stub-evaluator", "", ""),
        ("stub-evaluator", "stub-evaluator:now", ""),
        ("stub-evaluator", "stub-evaluator:then", "calibrated with another model, fit, prompt"),
        ("llm", "", "calibrated with the evaluator llm, but stub-evaluator graded this run"),
    ],
)
async def test_thresholds_of_another_evaluator_are_warned_of(
    folder: Path, evaluator: str, fingerprint: str, warning: str, asynchronous: bool
):
    own = f'evaluator = "{evaluator}"\nfingerprint = "{fingerprint}"\n'
    put(folder, f"upper = 0.6\nlower = 0.2\n[provenance]\n{own}")

    class Known(StubEvaluator):
        def fingerprint(self, settings: Settings) -> str:
            return "stub-evaluator:now"

    graph = graph_with(folder, Known(lambda _: 0.65))
    given = {"question": "q"}
    settings = Settings(profile="mine")
    if asynchronous:
        found = await graph.ainvoke(given, context=settings)
    else:
        found = graph.invoke(given, context=settings)
    warnings = [each for each in found["warnings"] if "calibrated" in each]
    assert found["action"] == "correct"
    assert [warning in each for each in warnings] == [True] * bool(warning)
    both = Settings(profile="mine", upper=0.6, lower=0.2)  # then they are the run's own
    found = await graph.ainvoke(given, context=both)
    assert not [each for each in found["warnings"] if "calibrated" in each]


def test_a_profile_is_a_plain_value(folder: Path):
    profile = read_profile(put(folder, "upper = 0.6\nlower = 0.2\nprovenance = 'our wiki'\n"))
    assert dataclasses.asdict(profile)["provenance"] == "our wiki"
