"""The preview: seeds that cannot break out, one place to ask, and refusals that say why."""

import base64
import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kasmos_plugin.contract.monitor import DEFAULT_SERVE_URL
from kasmos_plugin.errors import BadArgument
from kasmos_plugin.widget import preview_html
from kasmos_plugin.widget.preview import seed_json, serve_origin

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "&lt;\u2028\u2029",
    '"\\"; alert(1); //',
    "\ud800",
    "]]>",
]


def seed_of(text: str) -> dict[str, object]:
    match = re.search(r'<script type="application/json" id="kasmos-seed">(.*?)</script>', text)
    assert match
    seed = json.loads(match[1])
    assert isinstance(seed, dict)
    return seed


def policy_of(text: str) -> dict[str, str]:
    match = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert match
    return dict(rule.strip().split(" ", 1) for rule in match[1].split(";"))


def test_the_seed_is_what_was_asked_for() -> None:
    text = preview_html(
        serve_url=DEFAULT_SERVE_URL, secret="s3", project="p", task="t", mode="pip", theme="dark"
    )
    assert seed_of(text) == {
        "serve_url": "http://127.0.0.1:7433",
        "secret": "s3",
        "project": "p",
        "task": "t",
        "mode": "pip",
        "theme": "dark",
    }
    assert '<html lang="en" data-theme="dark">' in text


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_changes_nothing_but_the_seed(name: str) -> None:
    """D12"""
    text = preview_html(serve_url=DEFAULT_SERVE_URL, project=name, task=name)
    assert (seed_of(text)["project"], seed_of(text)["task"]) == (name, name)
    plain = preview_html(serve_url=DEFAULT_SERVE_URL, project="p", task="t")
    elements = re.compile(r"</?[a-zA-Z!][^>]*>")
    assert elements.findall(text) == elements.findall(plain)
    text.encode()


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_seed_comes_back_and_holds_nothing_that_html_reads(seed: object) -> None:
    text = seed_json(seed)
    assert json.loads(text) == seed
    assert not set(text) & set("<>&\u2028\u2029")


def test_a_seed_that_json_cannot_say_is_refused() -> None:
    """D13"""
    with pytest.raises(ValueError, match="not JSON compliant"):
        seed_json(float("nan"))


def test_the_policy_allows_our_scripts_and_one_origin() -> None:
    text = preview_html(serve_url="http://127.0.0.1:8080/prefix/")
    policy = policy_of(text)
    assert policy["connect-src"] == "http://127.0.0.1:8080"
    assert policy["default-src"] == "'none'"
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    for kind, texts in (("script-src", scripts), ("style-src", styles)):
        digests = [base64.b64encode(hashlib.sha256(each.encode()).digest()) for each in texts]
        assert policy[kind].split() == [f"'sha256-{digest.decode()}'" for digest in digests]


def test_a_page_without_a_serve_url_asks_the_place_that_served_it() -> None:
    text = preview_html()
    assert (seed_of(text)["serve_url"], policy_of(text)["connect-src"]) == ("", "'self'")


@pytest.mark.parametrize(
    ("given_url", "kept"),
    [
        ("http://127.0.0.1:7433", "http://127.0.0.1:7433"),
        ("http://127.0.0.1:7433/", "http://127.0.0.1:7433"),
        ("https://monitor.example.invalid/a/b/", "https://monitor.example.invalid/a/b"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("HTTP://localhost", "http://localhost"),
    ],
)
def test_an_origin_with_its_path_prefix_is_kept(given_url: str, kept: str) -> None:
    assert serve_origin(given_url) == kept


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1",
        "file:///tmp/x",
        "javascript:alert(1)",
        "127.0.0.1:7433",
        "http://",
        "http://user@127.0.0.1",
        "http://user:secret@127.0.0.1",
        "http://127.0.0.1?x=1",
        "http://127.0.0.1/?",
        "http://127.0.0.1/#top",
        "http://127.0.0.1#",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:x",
        "http://127.0.0.1;default-src",
        "http://127.0.0.1 'unsafe-inline'",
        'http://127.0.0.1/"x',
        "http://127.0.0.1/a\nb",
        "http://127.0.0.1\\@example.invalid",
        "http://127.0.0.1/../x",
        "http://[::1",
        "http://\u0435xample.invalid",
        "\u2028http://127.0.0.1",
    ],
)
def test_what_is_no_plain_origin_is_refused_with_the_value(url: str) -> None:
    with pytest.raises(BadArgument) as caught:
        preview_html(serve_url=url)
    assert caught.value.message.startswith("The serve URL '")
    assert caught.value.hint == "--serve-url http://127.0.0.1:7433"
    assert caught.value.message.isprintable()
