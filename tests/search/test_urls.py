import pytest

from crag_graph.search.urls import in_domains, is_private, page_key, web_url


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("https://Site.Example/A/b", "https://site.example/A/b"),
        ("HTTP://a.example", "http://a.example/"),
        ("https://a.example:443/x", "https://a.example/x"),
        ("https://a.example:8443/x", "https://a.example:8443/x"),
        ("https://ops:secret@a.example/x", "https://a.example/x"),
        ("https://a.example/x#top", "https://a.example/x"),
        ("https://a.example/#!/page/2", "https://a.example/#!/page/2"),
        ("https://a.example/?utm_source=x&id=2&gclid=1", "https://a.example/?id=2"),
        ("https://a.example/a b\n", "https://a.example/a%20b"),
        ("https://a.example/x](javascript:1)", "https://a.example/x%5D%28javascript:1%29"),
        ("https://a.example/Z%C3%BCrich", "https://a.example/Z%C3%BCrich"),
        ("https://a.example/Zürich", "https://a.example/Z%C3%BCrich"),
        ("https://[2001:db8::1]/x", "https://[2001:db8::1]/x"),
    ],
)
def test_what_is_shown_of_an_address(given, shown):
    assert web_url(given) == shown
    assert web_url(shown) == shown


@pytest.mark.case(39)
@pytest.mark.case(105)
@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        7,
        b"https://a.example",
        "a.example",
        "//a.example",
        "https://",
        "https:///x",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "ftp://a.example",
        "http://[::1",
        "http://a.example:port/",
        "https://a b.example/",
        "https://a.example/" + "x" * 3000,
    ],
)
def test_what_is_no_address_of_the_web(given):
    assert web_url(given) is None


@pytest.mark.case(41)
def test_the_same_page_has_the_same_key():
    same = (
        "https://Site.example/a",
        "https://site.example/a/",
        "http://site.example/a#top",
        "https://site.example/a?utm_source=x",
        "https://www.site.example/a",
    )
    assert len({page_key(web_url(url) or "") for url in same}) == 1
    apart = ("https://site.example/a", "https://site.example/a?id=2", "https://site.example/A")
    assert len({page_key(web_url(url) or "") for url in apart}) == 3
    assert page_key("https://a.example/?b=2&a=1") == page_key("https://a.example/?a=1&b=2")
    mobile, desktop = "https://de.m.wikipedia.org/wiki/X", "https://de.wikipedia.org/wiki/X"
    assert page_key(mobile) == page_key(desktop)


def test_a_domain_holds_its_subdomains_and_nothing_that_merely_ends_like_it():
    assert in_domains("https://a.example/x", ["a.example"])
    assert in_domains("https://www.a.example/x", ["b.example", "a.example"])
    assert not in_domains("https://nota.example/x", ["a.example"])
    assert not in_domains("https://a.example.evil/x", ["a.example"])
    assert not in_domains("https://a.example/x", [])


@pytest.mark.case(124)
@pytest.mark.parametrize(
    ("url", "private"),
    [
        ("http://169.254.169.254/latest", True),
        ("http://localhost:6333/", True),
        ("http://10.0.0.5/", True),
        ("http://[::1]/", True),
        ("http://printer.local/", True),
        ("http://intranet/", True),
        ("https://a.example/", False),
        ("http://8.8.8.8/", False),
    ],
)
def test_addresses_of_private_networks_are_known(url, private):
    assert is_private(url) is private
