"""codex.features: the switch for MCP Apps, read and turned on in text."""

import re
import tomllib
from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kasmos_plugin.codex.features import AppsFeature, read_apps, turn_apps_on
from kasmos_plugin.codex.toml_text import BOM, ConfigProblem


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", AppsFeature(True, "default", None, True)),
        (BOM, AppsFeature(True, "default", None, True)),
        ("[features]\n", AppsFeature(True, "default", None, True)),
        ("[features]\nweb = false\n", AppsFeature(True, "default", None, True)),
        ("[features]\napps = false", AppsFeature(False, "apps", 2, True)),
        ("[features]\napps = true", AppsFeature(True, "apps", 2, True)),
        ("# no\n[ features ]\n\t'apps'=false", AppsFeature(False, "apps", 3, True)),
        ('["features"]\r\n"apps" = false\r\n', AppsFeature(False, "apps", 2, True)),
        ("a = 1\nfeatures.apps = false", AppsFeature(False, "apps", 2, True)),
        ("features . 'apps' = false", AppsFeature(False, "apps", 1, True)),
        (BOM + "features = { x = 1, apps = false }", AppsFeature(False, "apps", 1, True)),
        ('"feat\\u0075res"."\\u0061pps" = false', AppsFeature(False, "apps", 1, True)),
        ("[features]\nconnectors = false", AppsFeature(False, "connectors", 2, True)),
        ("[features]\nplugins = false", AppsFeature(True, "default", None, False)),
        ("[features]\nplugins = true", AppsFeature(True, "default", None, True)),
        ("features.plugins = false\nfeatures.apps = false", AppsFeature(False, "apps", 2, False)),
        ("[features.sub]\na = 1\n[features]\napps = false", AppsFeature(False, "apps", 4, True)),
        (
            "[other]\napps = false\n[other.features]\napps = false",
            AppsFeature(True, "default", None, True),
        ),
        (
            "a = '''\n[features]\napps = false\n'''\n# [features]\n# apps = false",
            AppsFeature(True, "default", None, True),
        ),
    ],
)
def test_apps_are_on_unless_a_feature_says_no(text: str, read: AppsFeature) -> None:
    assert read_apps(text) == read


@pytest.mark.parametrize("apps", ["false", "true"])
@pytest.mark.parametrize("connectors", ["false", "true"])
def test_the_older_name_decides_in_either_order(apps: str, connectors: str) -> None:
    one, other = f"apps = {apps}\n", f"connectors = {connectors}\n"
    is_on = connectors == "true"
    assert read_apps("[features]\n" + one + other) == AppsFeature(is_on, "connectors", 3, True)
    assert read_apps("[features]\n" + other + one) == AppsFeature(is_on, "connectors", 2, True)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[features]\napps = 0", 2, "'features.apps' is '0', neither true nor false."),
        ("[features]\napps = 1", 2, "'features.apps' is '1', neither true nor false."),
        ("[features]\n\napps = 'no'", 3, "'features.apps' is 'no', neither true nor false."),
        ("features.connectors = []", 1, "'features.connectors' is '[]', neither true nor false."),
        ("[features.apps]", 1, "'features.apps' is '{}', neither true nor false."),
        (
            "[features]\napps = true\nplugins = 'off'",
            3,
            "'features.plugins' is 'off', neither true nor false.",
        ),
        ("a = 1\nfeatures = false", 2, "'features' is no table."),
        ("[[features]]\napps = false", 1, "'features' is no table."),
    ],
)
def test_a_wrong_type_is_refused_with_its_line(text: str, line: int, message: str) -> None:
    for act in (read_apps, turn_apps_on):
        with pytest.raises(ConfigProblem) as refused:
            act(text, name="/home/me/config.toml")
        assert refused.value.message == f"'/home/me/config.toml' line {line}: {message}"
        assert refused.value.line == line
        assert "apps = true" in refused.value.hint or " = true or " in refused.value.hint


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[features]\napps = False\n", 2),
        ("[features]\napps = false\napps = true\n", 3),
        ("[features]\n[features]\napps = false\n", 2),
        ("features.apps = false\n[features]\n", 2),
        ("features = { apps = false }\nfeatures.connectors = true\n", 2),
    ],
)
def test_a_broken_file_is_refused_with_its_line(text: str, line: int) -> None:
    """A5: nothing is ever added to a text that does not parse."""
    for act in (read_apps, turn_apps_on):
        with pytest.raises(ConfigProblem) as refused:
            act(text)
        assert refused.value.line == line
        assert refused.value.hint


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("features.apps=false", "features.apps=true"),
        ("features.apps = \t  false", "features.apps = \t  true"),
        ("[features]\r\napps =\tfalse # why\r\n", "[features]\r\napps =\ttrue # why\r\n"),
        ("features = {apps=false,connectors=false}", "features = {apps=true,connectors=true}"),
        ("features={web=false, apps = false}", "features={web=false, apps = true}"),
        (
            "[features]\nconnectors = true\napps = false",
            "[features]\nconnectors = true\napps = true",
        ),
        ("[features]\nplugins = false\napps = false", "[features]\nplugins = false\napps = true"),
    ],
)
def test_only_the_value_is_changed(before: str, after: str) -> None:
    assert turn_apps_on(before) == after


@pytest.mark.parametrize(
    "text", ["", BOM, "[features]\r\n", "[features]\napps = true", "[x]\napps = false"]
)
def test_a_text_with_nothing_off_is_returned_as_it_is(text: str) -> None:
    """A7: a second run changes nothing."""
    assert turn_apps_on(text) is text


def test_tables_of_an_array_stay_where_they_are() -> None:
    """A1: a library that writes the text anew gathers them in one place."""
    scattered = "[[a]]\nb = 1\n[features]\napps = %s\n[[a]]\nb = 1.0\n"
    assert turn_apps_on(scattered % "false") == scattered % "true"


@pytest.mark.parametrize(
    ("function", "broken"),
    [
        ("is_same", lambda one, other: False),
        ("_with_true", lambda text, spans: text.replace("false", "true").replace("#", "##")),
    ],
)
def test_a_change_that_is_not_exactly_that_one_is_refused(
    function: str, broken: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A1, A5: no input is known that gets here, so the editor is broken from outside."""
    monkeypatch.setattr(f"kasmos_plugin.codex.features.{function}", broken)
    with pytest.raises(ConfigProblem) as refused:
        turn_apps_on("[features]\napps = false # why\n")
    assert refused.value.hint == "set apps to true below [features] by hand"


# A generated configuration is a template: `@apps@` and `@connectors@` stand for the two values,
# `@end@` for a line's end. What it becomes with the values on is known without the code under test.


@dataclass(frozen=True)
class Config:
    """A configuration's text, and what turning apps on must make of it."""

    before: str
    after: str


LOOKALIKES = [
    "apps = false",
    "features.apps=false",
    "[features]@end@apps = false@end@connectors = false",
    "connectors =  false # [features]",
    "= 1000000000",
]
ROOT = [
    "# @look@",
    "",
    " \t",
    'model = "gpt"  # @look@',
    "a.features.apps = false",
    'notes = """@end@@block@@end@\\u003d false"""',
    "raw = '''@block@@end@'''@tail@",
    "list = [ # @look@@end@  { apps = false }, '''@look@''',@end@]",
    "inline = { apps = false, features = { apps = false } }",
    '"apps = false" = 1@end@"apps = 1000000000" = 2@end@"apps = 10000000000" = 3',
    "number = 1_000@end@real = 1.0@end@nothing = nan@end@at = 1979-05-27T07:32:00Z",
]
TABLES = [
    "[other]@end@apps = false@end@connectors=false",
    "[ \"x\" . 'features' ] # @look@@end@apps = false",
    "[[items]]@end@apps = false@end@[items.features]@end@apps=false",
    "[[items]]",
    "# @look@",
    'after = "@flat@"',
]
KEYS = {
    "apps": ["apps", '"apps"', "'apps'", '"\\u0061pps"'],
    "connectors": ["connectors", '"connectors"', "'connectors'"],
}
PLACE = re.compile("@(end|look|block|flat|tail)@")
EQUALS = st.sampled_from(["=", " = ", "\t=  ", " =\t"])


@st.composite
def configs(draw: st.DrawFn) -> Config:
    """Valid configurations: the features in each form, among what may be taken for them."""
    form = draw(st.sampled_from(["header", "dotted", "inline", "none"]))
    pairs = [
        f"{draw(st.sampled_from(KEYS[key]))}{draw(EQUALS)}@{key}@"
        for key in draw(
            st.lists(st.sampled_from(sorted(KEYS)), min_size=form == "header", unique=True)
        )
    ]
    if draw(st.booleans()):
        pairs.insert(draw(st.integers(0, len(pairs))), "web_search = false")
    root = draw(st.lists(st.sampled_from(ROOT), unique=True))
    tables = draw(st.lists(st.sampled_from(TABLES), unique=True))
    name = draw(st.sampled_from(["features", '"features"', "'features'"]))
    at = draw(st.integers(0, len(root)))
    if form == "dotted":
        dot = draw(st.sampled_from([".", " . "]))
        root[at:at] = [f"{name}{dot}{pair}" for pair in pairs]
    elif form == "inline":
        root.insert(at, f"{name} = {{ " + " , ".join(pairs) + " } # @look@")
    elif form == "header":
        table = "@end@".join([f"[ {name}\t] # @look@", *pairs, "[features.below]"])
        tables.insert(draw(st.integers(0, len(tables))), table)
    else:
        pairs = []
    return draw(texts(form != "none", root + tables))


@st.composite
def texts(draw: st.DrawFn, has_features: bool, lines: list[str]) -> Config:
    """Fill a template's places; the line ends of one text may differ."""
    template = draw(st.sampled_from(["", BOM])) + "@end@".join(lines)
    template += draw(st.sampled_from(["", "@end@", "@end@@end@", "@end@# @flat@"]))
    places = {"block": LOOKALIKES, "flat": LOOKALIKES[:2], "tail": ["", " #"]}
    places["look"] = [look for look in LOOKALIKES if "@end@" not in look]
    ends = draw(st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"]]))

    def fill(match: re.Match[str]) -> str:
        if match[1] == "end":
            return draw(st.sampled_from(ends))
        return PLACE.sub(fill, draw(st.sampled_from(places[match[1]])))

    filled = PLACE.sub(fill, template)
    values = {f"@{key}@": draw(st.sampled_from(["false", "false", "true"])) for key in KEYS}
    before, after = filled, filled
    for mark, value in values.items():
        before, after = before.replace(mark, value), after.replace(mark, "true")
    assert has_features or before == after
    return Config(before, after)


@given(configs())
@example(Config("features.apps=false\r\n\n", "features.apps=true\r\n\n"))
def test_every_other_byte_stays(config: Config) -> None:
    """A1, A2, A9: comments, order, spacing, line ends and the mark at the beginning."""
    tomllib.loads(config.before.removeprefix(BOM))
    changed = turn_apps_on(config.before)
    assert changed == config.after
    assert read_apps(changed).is_on
    assert turn_apps_on(changed) is changed


@given(configs())
def test_reading_agrees_with_the_parsed_value(config: Config) -> None:
    features = tomllib.loads(config.before.removeprefix(BOM)).get("features", {})
    read = read_apps(config.before)
    assert read.is_on == features.get("connectors", features.get("apps", True))
    assert (read.line is None) == (read.decided_by == "default") == (not features.keys() & KEYS)
    if read.line is not None:
        line = config.before.split("\n")[read.line - 1].replace("\\u0061", "a")
        assert read.decided_by in line
