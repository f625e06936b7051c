"""Settings: every bad one refused by name, and every shape of context understood."""

import dataclasses
import math
import types
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag_graph.errors import ConfigurationError
from crag_graph.settings import PROFILES, Profile, Scale, Settings, to_unit

NUMBERS = {
    name: field
    for name, field in Settings.model_fields.items()
    if name
    in (
        "upper", "lower", "min_relevant_docs", "top_k", "rerank_from", "candidates", "dense_weight",
        "strip_floor", "strip_top_k", "evidence_tokens", "max_results", "max_searches",
        "web_seconds",
    )
}  # fmt: skip


def refused(**fields: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        Settings.of(fields)
    assert "\n" not in caught.value.message
    return caught.value.message


@pytest.mark.case(117)
@pytest.mark.parametrize("value", [-0.001, 1.001, 4, math.nan, math.inf, True, "high", [0.5]])
@pytest.mark.parametrize("name", ["upper", "lower", "strip_floor", "dense_weight"])
def test_what_is_off_the_scale_of_scores_is_refused_by_name(name: str, value: Any) -> None:
    assert refused(**{name: value}).startswith(f"{name}: ")


@pytest.mark.case(63)
@pytest.mark.parametrize("value", [-1, 10**9, "many", None, True, False, math.nan, 2.5, {}])
@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_what_is_no_number_in_range_is_refused_by_name(name: str, value: Any) -> None:
    optional = NUMBERS[name].default is None
    fractional = NUMBERS[name].annotation in (float, float | None)
    if (value is None and optional) or (value == 2.5 and name == "web_seconds"):
        assert getattr(Settings.of({name: value}), name) == value
        return
    assert fractional or value != 2.5 or refused(**{name: value})
    assert refused(**{name: value}).startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"profile": ""}, "profile"),
        ({"profile": "x" * 101}, "profile"),
        ({"profile": 5}, "profile"),
        ({"aggregate": "median"}, "aggregate"),
        ({"outage_policy": "ignore"}, "outage_policy"),
        ({"retrieval_mode": "magic"}, "retrieval_mode"),
        ({"web_search": "maybe"}, "web_search"),
        ({"web_search": None}, "web_search"),
        ({"top_k": 0}, "top_k"),
        ({"rerank_from": 201}, "rerank_from"),
        ({"web_seconds": 0}, "web_seconds"),
    ],
)
def test_other_bad_settings_are_refused_by_name(fields: dict[str, Any], name: str) -> None:
    assert refused(**fields).startswith(f"{name}: ")


def test_fewer_candidates_than_are_kept_are_refused_by_name() -> None:
    assert "rerank_from (3) is below top_k (4)" in refused(rerank_from=3, top_k=4)
    assert Settings(rerank_from=0, top_k=4).rerank_from == 0


@pytest.mark.parametrize("name", ["include_domains", "exclude_domains"])
def test_domains_are_tidied_and_what_is_none_is_refused_by_name(name: str) -> None:
    assert getattr(Settings.of({name: [" Example.ORG. "]}), name) == ("example.org",)
    assert refused(**{name: ["https://example.org/x"]}).startswith(f"{name}: ")


def test_an_unknown_setting_is_refused_by_name() -> None:
    assert refused(topk=3) == "topk: there is no such setting"


@pytest.mark.case(122)
def test_a_refused_value_is_not_repeated() -> None:
    assert "TESTLEAK" not in refused(top_k="sk-TESTLEAK00")
    assert "TESTLEAK" not in refused(openai_api_key="sk-TESTLEAK00")


@pytest.mark.case(117)
def test_thresholds_in_the_wrong_order_are_refused_with_both() -> None:
    assert "lower (0.5) is above upper (0.2)" in refused(upper=0.2, lower=0.5)
    with pytest.raises(ConfigurationError, match=r"lower \(0\.9\) is above upper \(0\.7\)"):
        Settings(lower=0.9).thresholds()


def test_equal_thresholds_are_fine() -> None:
    bars = Settings(upper=0.5, lower=0.5).thresholds()
    assert bars.upper == bars.lower == 0.5


@pytest.mark.case(63)
def test_numbers_in_words_are_numbers() -> None:
    settings = Settings.of({"top_k": "4", "upper": "0.8"})
    assert (settings.top_k, settings.upper) == (4, 0.8)


@dataclasses.dataclass
class ParentContext:
    crag: Any = None
    user: str = "u"


@pytest.mark.parametrize(
    "context",
    [
        {"top_k": 7},
        Settings(top_k=7),
        ParentContext(crag={"top_k": 7}),
        ParentContext(crag=Settings(top_k=7)),
        {"crag": {"top_k": 7}, "user": "u"},
        {"crag": Settings(top_k=7), "user": "u"},
        types.MappingProxyType({"top_k": 7}),
        types.SimpleNamespace(crag={"top_k": 7}),
    ],
)
def test_every_context_that_carries_settings_is_understood(context: object) -> None:
    assert Settings.of(context) == Settings(top_k=7)


@pytest.mark.parametrize(
    "context",
    [None, {}, {"crag": None}, ParentContext(), object(), types.SimpleNamespace(user="u")],
)
def test_every_context_without_settings_means_the_defaults(context: object) -> None:
    assert Settings.of(context) == Settings()


def test_bad_settings_of_a_parent_are_refused_too() -> None:
    with pytest.raises(ConfigurationError, match="top_k"):
        Settings.of(ParentContext(crag={"top_k": 0}))


def test_settings_are_frozen() -> None:
    settings = Settings()
    with pytest.raises(ValueError, match="frozen"):
        settings.__setattr__("top_k", 3)


def test_every_knob_says_what_it_is_and_where_it_belongs() -> None:
    nodes = {"retrieve", "evaluate", "route", "refine", "web_search", "generate"}
    for name, knob in Settings.model_json_schema()["properties"].items():
        assert knob["title"], name
        assert knob["description"].endswith("."), name
        assert set(knob["langgraph_nodes"]) <= nodes, name
        assert knob["langgraph_nodes"], name


@pytest.mark.parametrize(
    ("value", "scale", "unit"),
    [(1, "five_point", 0), (3, "five_point", 0.5), (5, "five_point", 1), (4, "five_point", 0.75),
     (-1, "signed", 0), (0, "signed", 0.5), (1, "signed", 1), (0.3, "unit", 0.3)],
)  # fmt: skip
def test_scales_map_onto_0_to_1(value: float, scale: Scale, unit: float) -> None:
    assert to_unit(value, scale) == unit


@pytest.mark.parametrize(
    ("value", "scale"),
    [(0, "five_point"), (5.1, "five_point"), (-1.1, "signed"), (1.1, "unit"), (math.nan, "unit")],
)
def test_a_value_off_its_scale_is_refused(value: float, scale: Scale) -> None:
    with pytest.raises(ValueError, match=scale):
        to_unit(value, scale)


@pytest.mark.parametrize(
    ("name", "upper", "lower", "aggregate", "k"),
    [
        ("general", 0.7, 0.3, "max", 1),
        ("medical", 0.85, 0.5, "kth_best", 2),
        ("legal", 0.80, 0.45, "kth_best", 2),
        ("ecommerce", 0.6, 0.25, "max", 1),
        ("five_point", 0.75, 0.25, "max", 1),
        ("paper-popqa", 0.795, 0.005, "max", 1),
        ("paper-pubhealth", 0.75, 0.045, "max", 1),
        ("paper-arc", 0.75, 0.045, "max", 1),
        ("paper-bio", 0.975, 0.045, "max", 1),
    ],
)
def test_profiles_have_the_values_of_the_design_on_0_to_1(
    name: str, upper: float, lower: float, aggregate: str, k: int
) -> None:
    bars = Settings(profile=name).thresholds()
    assert bars.upper == pytest.approx(upper)
    assert bars.lower == pytest.approx(lower)
    assert (bars.aggregate, bars.min_relevant_docs, bars.profile) == (aggregate, k, name)
    assert bars.provenance


def test_every_built_in_profile_is_tested_here_and_known_by_its_name() -> None:
    assert len(PROFILES) == 9
    assert all(name == profile.name for name, profile in PROFILES.items())


def test_the_paper_profiles_say_where_they_come_from() -> None:
    for name in ("paper-popqa", "paper-pubhealth", "paper-arc", "paper-bio"):
        assert "arXiv:2401.15884" in PROFILES[name].provenance


def test_general_is_the_default_and_the_caller_may_choose_another() -> None:
    assert Settings().thresholds().profile == "general"
    assert Settings().thresholds(default="legal").profile == "legal"
    assert Settings(profile="medical").thresholds(default="legal").profile == "medical"


def test_a_run_may_override_each_part_of_a_profile() -> None:
    bars = Settings(profile="general", upper=0.9, lower=0.1, aggregate="mean").thresholds()
    assert (bars.upper, bars.lower, bars.aggregate) == (0.9, 0.1, "mean")


def test_asking_for_more_passages_turns_the_maximum_into_the_kth_best() -> None:
    assert Settings(min_relevant_docs=3).thresholds().aggregate == "kth_best"
    assert Settings(min_relevant_docs=1).thresholds().aggregate == "max"
    assert Settings(min_relevant_docs=3, aggregate="mean").thresholds().aggregate == "mean"
    assert Settings(profile="medical", min_relevant_docs=3).thresholds().min_relevant_docs == 3


def test_an_unknown_profile_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigurationError, match=r"profile: there is no 'nope'; .*ecommerce"):
        Settings(profile="nope").thresholds()


def test_own_profiles_stand_beside_the_built_in_ones() -> None:
    own = Profile(name="own", upper=4.5, lower=2.5, scale="five_point", labels=40)
    bars = Settings(profile="own").thresholds({**PROFILES, "own": own})
    assert (bars.upper, bars.lower) == (0.875, 0.375)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"upper": 1.5, "lower": 0.1}, r"profile 'p': upper: 1\.5 is not between 0 and 1"),
        ({"upper": 0.5, "lower": math.nan}, "profile 'p': lower"),
        ({"upper": 0.2, "lower": 0.5}, r"profile 'p': lower \(0\.5\) is above upper"),
        ({"upper": 0.5, "lower": 0.2, "min_relevant_docs": 0}, "profile 'p': min_relevant_docs"),
    ],
)
def test_an_impossible_profile_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Profile(name="p", **fields)


@given(st.floats(0, 1), st.floats(0, 1))
def test_thresholds_always_come_out_in_order_or_not_at_all(upper: float, lower: float) -> None:
    if lower > upper:
        with pytest.raises(ConfigurationError):
            Settings.of({"upper": upper, "lower": lower})
    else:
        bars = Settings.of({"upper": upper, "lower": lower}).thresholds()
        assert (bars.upper, bars.lower) == (upper, lower)
