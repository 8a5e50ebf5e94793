"""Our tables in Codex's configuration: put onto the user's own text, and taken out again."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kasmos_plugin.codex.edits import between
from kasmos_plugin.codex.tables import (
    MARKETPLACE_TABLE,
    PLUGIN_TABLE,
    carry,
    means_same,
    put,
    table,
)

MARKETPLACE = {"source_type": "local", "source": "/home/ann/kasmos data/ü"}
PLUGIN = {"enabled": True}

TEXTS = {
    "empty": "",
    "comment alone": "# mine",
    "no final newline": 'model = "x"  # c\n[features]\napps = true',
    "crlf": '# mine\r\nmodel = "x"\r\n\r\n[mcp_servers.a]\r\ncommand = "true"\r\n',
    "crlf, no final newline": "[features]\r\napps = true",
    "mixed line ends": 'a = 1\r\nb = 2\nc = """\r\n[plugins]\n"""\n',
    "byte order mark": '\ufeff# mine\r\nmodel = "x"\r\n',
    "byte order mark alone": "\ufeff",
    "others of the kind": (
        '[plugins."x@y"]\nenabled = false # off\n\n[marketplaces.y]\nsource_type = "git"\n'
    ),
    "inline": (
        'plugins = { "a@b" = { enabled = true } } # in\n'
        'marketplaces = { b = { source = "/x" } }\n[features]\napps = true\n'
    ),
    "dotted": 'plugins."x@y".enabled = true\n[features]\napps=true\n',
    "scattered arrays": "[[a]]\nx = 1\n[b]\n[[a]]\nx = 2\n",
}

every_text = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())


def rewritten(text: str) -> str:
    """Return the text as Codex leaves it: no byte order mark, LF alone."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def both(text: str) -> str:
    with_marketplace = put(text, MARKETPLACE_TABLE, MARKETPLACE)
    assert with_marketplace is not None
    with_both = put(with_marketplace, PLUGIN_TABLE, PLUGIN)
    assert with_both is not None
    return with_both


@every_text
def test_what_the_user_wrote_stays_and_our_tables_come(text: str) -> None:
    """Fault A1: every other byte of the file stays."""
    found = both(text)
    assert table(found, MARKETPLACE_TABLE) == MARKETPLACE
    assert table(found, PLUGIN_TABLE) == PLUGIN
    if "inline" not in text and "{" not in text:
        assert found.startswith(text)
        added = found.removeprefix(text)
        assert ("\r\n" in added) == ("\r\n" in text.split("\n")[0] + "\n")


@every_text
def test_what_was_put_in_comes_out_without_a_trace(text: str) -> None:
    with_marketplace = put(text, MARKETPLACE_TABLE, MARKETPLACE)
    assert with_marketplace is not None
    with_both = put(with_marketplace, PLUGIN_TABLE, PLUGIN)
    assert with_both is not None
    bare = put(with_both, PLUGIN_TABLE, None, undo=between(with_marketplace, with_both))
    assert bare == with_marketplace
    assert put(bare, MARKETPLACE_TABLE, None, undo=between(text, bare)) == text


@every_text
def test_codexs_own_changes_are_carried_onto_the_users_text(text: str) -> None:
    after = both(rewritten(text))
    assert carry(text, after, undo={}) == both(text)


def test_what_the_user_added_after_us_stays_when_we_go() -> None:
    text = "[features]\napps = true"
    with_ours = put(text, PLUGIN_TABLE, PLUGIN)
    assert with_ours is not None
    edited = with_ours.replace("apps = true", "apps = true # yes") + "[z]\nb = 1\n"
    bare = put(edited, PLUGIN_TABLE, None, undo=between(text, with_ours))
    assert bare is not None
    assert tomllib.loads(bare) == {"features": {"apps": True}, "z": {"b": 1}}
    assert "apps = true # yes\n" in bare


def test_the_users_settings_of_the_plugin_go_with_its_table_alone() -> None:
    text = (
        '[plugins."kasmos@kasmos"]\nenabled = true\n'
        '[plugins."kasmos@kasmos".mcp_servers.kasmos]\nenabled = false\n# end\n[z]\nb = 1\n'
    )
    bare = put(text, PLUGIN_TABLE, None)
    assert bare is not None
    assert tomllib.loads(bare) == {"z": {"b": 1}}


def test_the_order_in_which_codex_writes_means_nothing() -> None:
    """Codex puts an inline table that it rewrites at another place."""
    text = "plugins = { x = { enabled = true } }\r\na = 1\r\n"
    after = "a = 1\n\n[plugins.x]\nenabled = true\n"
    assert carry(text, both(after), undo={}) == both(text)


def test_another_change_at_the_same_time_is_not_carried() -> None:
    text = "model = 'x'\r\n"
    assert carry(text, both("model = 'y'\n"), undo={}) is None
    assert carry(text, "model = 'x'\n[plugins]\n", undo={}) == text


def test_an_edit_that_would_move_more_than_our_table_is_refused() -> None:
    """tomlkit gathers scattered arrays of tables; the user's order is worth more."""
    text = '[[a]]\nx = 1\n[plugins."kasmos@kasmos"]\nenabled = true\n[[a]]\nx = 2\n'
    bare = put(text, PLUGIN_TABLE, None)
    assert bare in (None, "[[a]]\nx = 1\n[[a]]\nx = 2\n")


@pytest.mark.parametrize("text", ["[features\n", "a = 1\na = 2\n"])
def test_what_is_no_toml_means_nothing_the_same(text: str) -> None:
    assert not means_same(text, text)


@given(
    values=st.dictionaries(
        st.text(st.characters(codec="ascii", categories=["L"]), min_size=1, max_size=8),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
        max_size=3,
    ),
    text=st.sampled_from(list(TEXTS.values())),
)
def test_any_value_is_written_as_it_is(values: dict[str, str], text: str) -> None:
    found = put(text, MARKETPLACE_TABLE, values)
    assert found is not None
    assert table(found, MARKETPLACE_TABLE) == values
    assert put(found, MARKETPLACE_TABLE, None, undo=between(text, found)) == text
