"""rules.plan: markdown to waves and subtasks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kasmos_plugin.contract.task import Plan, Subtask, Wave
from kasmos_plugin.errors import PlanProblems
from kasmos_plugin.rules.plan import parse_plan

TWO_WAVES = """# Title

**Goal:** one
sentence

## Wave 1: parse
### Task 1: tokens
text
### Task 2 - tree

## Wave 2
#### Task 1 print
"""


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(PlanProblems) as caught:
        parse_plan(text)
    return caught.value.problems


def test_subtasks_are_numbered_over_all_waves() -> None:
    assert parse_plan(TWO_WAVES) == Plan(
        goal="one sentence",
        waves=(Wave(wave=1, title="parse"), Wave(wave=2)),
        subtasks=(
            Subtask(wave=1, number=1, title="tokens"),
            Subtask(wave=1, number=2, title="tree"),
            Subtask(wave=2, number=3, title="print"),
        ),
    )


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_change_nothing(line_end: str, start: str) -> None:
    """G3: the same for LF, CRLF and a BOM before the first heading."""
    assert parse_plan(start + TWO_WAVES.replace("\n", line_end)) == parse_plan(TWO_WAVES)


def test_a_byte_order_mark_before_the_first_wave_is_no_text() -> None:
    """G3."""
    assert len(parse_plan("\ufeff## Wave 1\n### Task 1: x\n").waves) == 1


@pytest.mark.parametrize(
    "hidden",
    [
        "```\n## Wave 2\n### Task 1: x\n```",
        "````\n```\n## Wave 2\n```\n````",
        "~~~\n```\n~~~~\n```\n## Wave 2\n```",
        "    ## Wave 2",
        "> ## Wave 2\n> ### Task 9: quoted",
        "- ```\n  ## Wave 2\n  ```",
        "<!--\n## Wave 2\n-->",
    ],
)
def test_examples_are_not_headings(hidden: str) -> None:
    """G1: fences, indented code, quotations, lists and comments never count."""
    text = f"## Wave 1\n### Task 1: real\n\n{hidden}\n"
    assert parse_plan(text).subtasks == (Subtask(wave=1, number=1, title="real"),)


def test_an_unclosed_fence_runs_to_the_end() -> None:
    """G1."""
    text = "## Wave 1\n### Task 1: real\n```\n### Task 2: example\n"
    assert len(parse_plan(text).subtasks) == 1


@pytest.mark.parametrize("text", ["", "# Title\n", "text only", "## Phase 0.5\n### Step 1\n"])
def test_a_plan_without_waves_has_none(text: str) -> None:
    """G7: no waves is a fact of its own."""
    assert parse_plan(text).waves == ()


def test_closing_sections_belong_to_no_task() -> None:
    """G8: a section ends at the next heading of its level or above."""
    text = "## Wave 1\n### Task 1: x\n## Notes\n### Not a task\n"
    assert len(parse_plan(text).subtasks) == 1


@pytest.mark.parametrize(
    "heading", ["Wave 1", "wave 1: a", "Wave 1 — a", "**Wave 1**: a", "Wave 1 - a"]
)
def test_the_allowed_forms_of_a_wave_heading(heading: str) -> None:
    """G8: which suffixes are allowed."""
    assert len(parse_plan(f"## {heading}\n### Task 1: x\n").waves) == 1


def test_every_problem_is_named_with_its_line() -> None:
    text = (
        "### Task 1: early\n## Wave 1\n## Wave 3 (later)\n## Wave 3\n### Task 1\n"
        "### Task 2: x\n### Task 2: y\n"
    )
    assert problems(text) == (
        "line 1: task 1 stands before the first wave",
        "line 2: wave 1 has no tasks",
        "line 3: \"Wave 3 (later)\" is no wave; a title goes after ':'",
        "line 4: wave 3 stands where wave 2 is due",
        'line 5: "Task 1" has no title',
        "line 7: task 2 repeats in wave 2; it first stands on line 6",
    )


def test_check_boxes_at_any_depth_count_for_nothing() -> None:
    """G4: one rule for every counter: headings are subtasks, boxes are prose."""
    text = "## Wave 1\n### Task 1: x\n- [ ] a\n  - [x] b\n    - [ ] c\n"
    assert parse_plan(text).subtasks == (Subtask(wave=1, number=1, title="x"),)


def test_numbers_may_start_again_in_each_wave() -> None:
    text = "## Wave 1\n### Task 1: a\n## Wave 2\n### Task 1: b\n"
    assert [s.number for s in parse_plan(text).subtasks] == [1, 2]


@given(
    st.lists(
        st.sampled_from(
            [
                "## Wave 1",
                "## Wave 2: t",
                "### Task 1: x",
                "### Task 2 y",
                "```",
                "~~~",
                "> q",
                "- l",
            ]
        )
        | st.text(max_size=20)
    )
)
def test_any_text_gives_a_plan_or_problems(lines: list[str]) -> None:
    refused: tuple[str, ...] = ()
    plan = Plan()
    try:
        plan = parse_plan("\n".join(lines))
    except PlanProblems as error:
        refused = error.problems
    assert all(problem.startswith("line ") for problem in refused)
    assert [s.number for s in plan.subtasks] == list(range(1, len(plan.subtasks) + 1))
    assert {s.wave for s in plan.subtasks} == {w.wave for w in plan.waves}
