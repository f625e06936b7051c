import pytest

from crag_graph.cli.options import filter_from, settings_from
from crag_graph.errors import ConfigurationError, CRAGError, InputError
from crag_graph.settings import Settings


def test_values_take_the_type_of_their_field():
    settings = settings_from(
        ["top_k=8", "upper=0.85", "web_search=off", "retrieval_mode=sparse", "dense-weight = 0.25"]
    )
    assert settings == Settings(
        top_k=8, upper=0.85, web_search=False, retrieval_mode="sparse", dense_weight=0.25
    )


@pytest.mark.parametrize("word", ["on", "true", "yes", "1", "True", "ON"])
def test_switches_are_written_as_people_write_them(word):
    assert settings_from([f"prefer_wikipedia={word}"]).prefer_wikipedia is True


def test_lists_are_separated_by_commas():
    settings = settings_from(["include_domains=example.org, docs.example.com"])
    assert settings.include_domains == ("example.org", "docs.example.com")


def test_the_last_of_a_repeated_key_holds_and_none_unsets():
    assert settings_from(["top_k=3", "top_k=9"]).top_k == 9
    assert settings_from(["upper=0.9", "upper=none"]).upper is None
    assert settings_from(["top_k=3", "top_k="]) == Settings()


def test_profile_is_a_setting_with_an_option_of_its_own():
    assert settings_from(["profile=legal"]).profile == "legal"
    assert settings_from(["profile=legal"], profile="medical").profile == "medical"
    assert settings_from(None, profile=" ").profile is None


@pytest.mark.parametrize(
    ("pair", "error", "said"),
    [
        ("top_k", InputError, "KEY=VALUE"),
        ("=8", InputError, "KEY=VALUE"),
        ("top-kk=8", InputError, "do you mean top_k?"),
        ("colour=red", InputError, "there are profile"),
        ("top_k=many", ConfigurationError, "--set top_k: "),
        ("top_k=0", ConfigurationError, "--set top_k: "),
        ("upper=1.5", ConfigurationError, "--set upper: "),
        ("upper=nan", ConfigurationError, "--set upper: "),
        ("retrieval_mode=magic", ConfigurationError, "--set retrieval_mode: "),
        ("web_search=perhaps", ConfigurationError, "--set web_search: "),
    ],
)
def test_what_cannot_be_used_is_one_sentence_that_names_it(pair, error, said):
    with pytest.raises(error) as caught:
        settings_from([pair])
    assert said in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.exit_code == 2


@pytest.mark.case(117)
def test_thresholds_in_the_wrong_order_are_refused_without_a_made_up_field_name():
    with pytest.raises(CRAGError, match=r"^--set lower \(0\.9\) is above upper \(0\.2\)$"):
        settings_from(["lower=0.9", "upper=0.2"])


def test_filters_are_numbers_switches_or_text_and_repeat_to_any_of():
    assert filter_from(["page=3", "draft=false", "source=a.md", "source=b=c.md"]) == {
        "page": 3,
        "draft": False,
        "source": ["a.md", "b=c.md"],
    }
    assert filter_from(["x=NaN", "y={}", 'z="3"']) == {"x": "NaN", "y": "{}", "z": '"3"'}
    assert filter_from(None) is None
    with pytest.raises(InputError, match="FIELD=VALUE"):
        filter_from(["page"])


def test_every_setting_can_be_set_from_the_command_line():
    words = {
        "profile": "legal",
        "aggregate": "mean",
        "outage_policy": "local",
        "topic": "news",
        "time_range": "week",
    }
    for name, field in Settings.model_fields.items():
        value = words.get(name, field.default)
        if isinstance(value, tuple):
            value = "example.org"
        if value is None:
            value = "0.5" if name in ("upper", "lower") else "1"
        settings_from([f"{name}={value}"])
