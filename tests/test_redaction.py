"""Credentials are masked wherever they turn up, and nothing else is."""

import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from crag_graph.redaction import MASK, redact

WORD = st.text(string.ascii_letters + string.digits, min_size=8, max_size=30)
PASSWORD = st.text(string.ascii_letters + string.digits + "_-~.+=", min_size=8, max_size=30)
AROUND = st.text(st.characters(categories=["Lu", "Ll", "Zs", "Po"], codec="utf-8"), max_size=30)

SHAPES = [
    "sk-{}",
    "sk-proj-{}",
    "tvly-{}",
    "tvly-dev-{}",
    "hf_{}0123456789",
    "ghp_{}01234567890123",
    "gsk_{}0123456789",
    "lsv2_pt_{}0123456789",
    "AIza{}01234567890123",
    "xoxb-{}",
    "eyJ{}.{}.{}",
    "BSA{}0123456789012",
]


@pytest.mark.case(122)
@pytest.mark.parametrize("shape", SHAPES)
@given(WORD, AROUND, AROUND)
def test_keys_of_every_shape_are_masked_anywhere(
    shape: str, secret: str, before: str, after: str
) -> None:
    token = shape.replace("{}", secret)
    assert token not in redact(f"{before} {token} {after}")


@pytest.mark.case(123)
@given(WORD, PASSWORD)
def test_users_and_passwords_in_urls_are_masked(user: str, password: str) -> None:
    shown = redact(f"cannot reach http://{user}:{password}@qdrant.example:6333/x, retry")
    assert shown == f"cannot reach http://{MASK}@qdrant.example:6333/x, retry"


@pytest.mark.case(123)
def test_an_at_sign_in_a_password_does_not_uncover_its_rest() -> None:
    assert redact("http://u:TEST@LEAK@host/") == f"http://{MASK}@host/"


@pytest.mark.case(122)
@pytest.mark.parametrize(
    "template",
    [
        "api_key={}",
        "api-key: {}",
        "API key: {}",
        "OPENAI_API_KEY={}",
        "x-api-key: {}",
        "apiKey={}",
        "access_token={}",
        "client-secret = {}",
        "password={}",
        "https://api.example/search?api_key={}&q=x",
        '{{"api_key": "{}", "q": 1}}',
        "{{'password': '{}'}}",
        '{{"password": "two words {}"}}',
        "Incorrect API key provided: {}. Find yours",
        "Authorization: Bearer {}",
        "authorization: basic {}",
    ],
)
@given(WORD)
def test_fields_that_say_they_are_secret_are_masked(template: str, secret: str) -> None:
    assume(secret not in template)  # "password" stays where it is the field's name
    shown = redact(template.format(secret))
    assert secret not in shown
    assert MASK in shown


def test_the_rest_of_a_masked_line_stays() -> None:
    assert (
        redact('{"api_key": "abcdefgh", "q": "tides"}') == f'{{"api_key": "{MASK}", "q": "tides"}}'
    )
    assert redact("GET /s?api_key=abcdefgh&q=tides 401") == f"GET /s?api_key={MASK}&q=tides 401"


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens=4000, tokens: 512",
        "the task-force met; risk-averse",
        "ask-anything.example and mailto:someone@host.example",
        "https://host.example/path@v1?x=1",
        '{"url":"https://host.example","mail":"a@b.example"}',
        "set OPENAI_API_KEY or CRAG_CHAT_MODEL",
        "basic facts: the bearer of news",
        "a secret is a secret",
    ],
)
def test_what_is_no_credential_stays(text: str) -> None:
    assert redact(text) == text


@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                ["api_key=", "://", "@", "sk-", "Bearer ", '"', "'", MASK, "token: ", " "]
            ),
            st.text(max_size=12),
        ),
        max_size=12,
    ).map("".join)
)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize("text", ["a-" * 50_000, "_a" * 50_000, "://" * 30_000, "token:" * 20_000])
def test_hostile_repetitions_end(text: str) -> None:
    assert isinstance(redact(text), str)
