import pytest

from crag_graph.search.cleaning import is_block_page, readable, without_consent

PAGE = """<!DOCTYPE html><html><head><title>Ferries</title><script>track()</script></head><body>
<nav><a href="/">Home</a> <a href="/shop">Shop</a></nav>
<article><h1>The ferry to Lund</h1>
<p>The ferry leaves Lund at nine in the morning on every day but Sunday, says the office.</p>
<p>Bicycles travel for two euros each way, and dogs for nothing at all if they behave well.</p>
</article><footer>Imprint · Terms · Newsletter</footer></body></html>"""


def test_of_a_page_of_html_the_main_text_stays():
    text = readable(PAGE)
    assert "leaves Lund at nine" in text
    assert "Bicycles travel for two euros" in text
    for junk in ("<", "track()", "Shop", "Newsletter"):
        assert junk not in text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("<strong>Ferry</strong> &amp; boat<br/>daily", "Ferry & boat\ndaily"),
        ('see <a href="x" class="y">this</a>', "see this"),
        ("if x<b and y>3: a < c", "if x<b and y>3: a < c"),
        ("List<String> names", "List<String> names"),
        ("[![logo](l.png)](/home) The [table](https://x/y_(z)) here", "The table here"),
        ("a\n\n\n\n\nb\x00\ufeff", "a\n\nb"),
        ("\u200b \n\t", ""),
        (None, ""),
        (7, ""),
        (["text"], ""),
    ],
)
def test_what_is_readable_of_a_text(given, text):
    assert readable(given) == text


@pytest.mark.parametrize(
    "banner",
    [
        "We use cookies to improve your experience on our site.",
        "We and our 842 partners store and use cookies on your device.",
        "This website uses cookies.",
        "Accept all cookies",
        "Reject optional cookies",
        "Cookie settings",
        "By continuing to browse the site you agree to our use of cookies.",
        "Wir verwenden Cookies, um Inhalte zu personalisieren.",
        "Alle Cookies akzeptieren",
        "Nous utilisons des cookies pour vous offrir le meilleur service.",
        "Utilizamos cookies propias y de terceros.",
    ],
)
def test_the_words_of_a_consent_banner_go_and_the_rest_stays(banner):
    assert without_consent(banner) == ""
    assert without_consent(f"{banner}\nThe ferry leaves at nine.") == "The ferry leaves at nine."
    assert "leaves at nine." in without_consent(f"The ferry leaves at nine. {banner}")


@pytest.mark.parametrize(
    "text",
    [
        "Browsers send cookies with every request to the domain that set them.",
        "A cookie is a small biscuit, and the recipe wants 200 g of butter.",
        "An HTTP cookie holds a session identifier and expires after 30 minutes.",
    ],
)
def test_a_text_about_cookies_stays(text):
    assert without_consent(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Just a moment...\nEnable JavaScript and cookies to continue",
        "Attention Required! | Cloudflare",
        "Access denied\nYou don't have permission to access this server.",
        "Access denied | a.example used Cloudflare to restrict access",
        "403 Forbidden\nnginx",
        "404 - Page not found",
        "503 Service Temporarily Unavailable",
        "Please verify you are a human by completing the action below.",
        "Checking your browser before accessing a.example.",
        "Our systems have detected unusual traffic from your computer network.",
        "You need to enable JavaScript to run this app.",
        "Sorry, you have been blocked",
        "Pardon Our Interruption\nAs you were browsing something about your browser",
    ],
)
def test_what_a_site_shows_in_place_of_its_page_is_known(text):
    assert is_block_page(text)


@pytest.mark.parametrize(
    "text",
    [
        "HTTP 403 Forbidden is a status code that means the server refuses to authorise.",
        "Access denied for anonymous users is the default policy of the register.",
        "The ferry takes just a moment to dock.",
        "404 passengers were on board when the ship left.",
        "Just a moment of the story: " + "it goes on and on. " * 100,
    ],
)
def test_a_page_that_speaks_of_such_things_is_none(text):
    assert not is_block_page(text)


@pytest.mark.parametrize(
    "hostile",
    [
        "a" * 1_000_000,
        "([" * 200_000,
        "[a](" * 150_000,
        "![a](" * 150_000,
        "<p " * 200_000,
        "<a b=" * 100_000,
        "&amp;" * 150_000,
    ],
    ids=lambda text: text[:5],
)
@pytest.mark.case(100)
def test_hostile_text_ends_in_linear_time(hostile):
    assert isinstance(readable(hostile), str)
