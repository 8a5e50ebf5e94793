"""The live view as lines: what stands where, and that it fits every terminal."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from kasmos_plugin.cli.grid import grid, spread
from kasmos_plugin.cli.screen import Sight, draw, headline, progress_bar
from kasmos_plugin.cli.stack import Section, stack
from kasmos_plugin.contract.live_status import LiveStatus

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def _ago(seconds: int) -> str:
    return (NOW - timedelta(seconds=seconds)).isoformat()


def status(
    *, agents: int = 0, waiting: int = 0, tasks: int = 0, events: int = 0, **other: Any
) -> LiveStatus:
    """A snapshot with so many of everything."""
    counts = dict.fromkeys(("planning", "ready", "implementing", "reviewing", "verifying"), 0)
    given = {
        "generated_at": NOW,
        "project": "demo",
        "daemon_running": True,
        "uptime": "3m0s",
        "lifecycle": counts | {"implementing": tasks, "total": tasks},
        "active_agents": [
            {
                "task": f"task-{n}",
                "role": "coder",
                "wave": 1,
                "task_number": n,
                "stage": "running",
                "active": True,
                "stage_since": _ago(70),
                "last_activity": _ago(3),
                "branch": f"feat/{n}",
                "worktree": f"wt-{n}",
                "id": f"a{n}",
            }
            for n in range(agents)
        ],
        "attention": [
            {
                "task": f"task-{n}",
                "kind": "needs_decision",
                "detail": "why",
                "since": _ago(60 * n + 60),
            }
            for n in range(waiting)
        ],
        "truncated": {},
        "projects": ["demo"],
        "tasks": [
            {
                "filename": f"task-{n}",
                "status": "implementing",
                "phase": "wave_running",
                "active_wave": 1,
                "total_waves": 2,
                "subtasks_done": 1,
                "subtasks_total": 3,
            }
            for n in range(tasks)
        ],
        "events": [{"at": _ago(n), "kind": "x", "message": f"event {n}"} for n in range(events)],
    }
    return LiveStatus.model_validate(given | other)


def shown(sight: Sight, width: int = 80, height: int = 24) -> list[str]:
    return [line.plain.rstrip() for line in draw(sight, width=width, height=height)]


def test_who_waits_for_a_person_stands_first() -> None:
    lines = shown(Sight(status=status(agents=2, waiting=2, tasks=2, events=2)))
    assert lines[:11] == [
        "▲ 2 wait for you · 2m   2 running                               demo   live · 0s",
        "planning 0   ready 0   implementing 2   reviewing 0   verifying 0",
        "",
        "waiting for you 2",
        "▲  1m  task-0  needs a decision: why",
        "▲  2m  task-1  needs a decision: why",
        "",
        "agents 2",
        "● coder  task-0  w1     running 1m  3s ago  feat/0  wt-0  a0",
        "● coder  task-1  w1 t1  running 1m  3s ago  feat/1  wt-1  a1",
        "",
    ]
    assert lines[-1].startswith("q quit · r refresh")


def test_a_decision_says_which_one() -> None:
    waiting = status(
        tasks=1, attention=[{"task": "task-0", "kind": "needs_decision", "since": _ago(5)}]
    )
    task = waiting.tasks[0].model_dump() | {"phase": "wave_waiting"}  # type: ignore[index]  # it has one
    lines = shown(Sight(status=LiveStatus.model_validate(waiting.model_dump() | {"tasks": [task]})))
    assert "▲  5s  task-0  needs a decision: wave 1 is done, start wave 2?" in lines


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (status(waiting=1), "▲ 1 waits for you · 1m"),
        (status(agents=1), "● all moving"),
        (status(), "○ idle"),
        (status(daemon_running=False, uptime=""), "◌ agents unknown · store only"),
    ],
    ids=["waiting", "moving", "idle", "no daemon"],
)
def test_each_state_has_its_own_sentence(seen: LiveStatus, said: str) -> None:
    assert headline(seen).plain == said


def test_a_lost_daemon_is_no_all_clear() -> None:
    lost = status(
        daemon_running=False,
        uptime="",
        notices=[{"code": "daemon_unreachable", "message": "the daemon does not answer"}],
    )
    lines = shown(Sight(status=lost))
    assert "◌ the daemon does not answer" in lines
    assert lines[lines.index("agents unknown") + 1] == "kas daemon start"
    assert not any("agents 0" in line or "no agents" in line for line in lines)


def test_a_failure_keeps_the_last_snapshot_marked_as_stale() -> None:
    lines = shown(
        Sight(
            status=status(tasks=1),
            age_s=65,
            problem="The store is damaged.",
            hint="kas doctor",
            retry_s=8,
        )
    )
    assert "demo   stale · 65s" in lines[0]
    assert lines[2].split("  ")[0] == "■ The store is damaged."
    assert lines[2].endswith("retrying in 8s · r now")
    assert lines[3] == "  kas doctor"
    assert any("task-0" in line for line in lines)


def test_before_the_first_answer_it_says_so() -> None:
    assert shown(Sight()) == ["asking …"]


def test_a_plan_without_waves_is_never_complete() -> None:
    """Fault G7."""
    assert progress_bar(0, 0, total_waves=0).plain == "no waves"
    assert progress_bar(3, 5, total_waves=2).plain == "●●●○○ 3/5"
    assert progress_bar(39, 40, total_waves=2).plain == "●●●●●●●●●○ 39/40"


def test_what_has_no_room_is_counted() -> None:
    """Fault E10."""
    lines = shown(Sight(status=status(agents=50, waiting=30, tasks=20, events=40)), height=30)
    more = [line for line in lines if line.startswith("and ")]
    rows = sum(line.startswith("▲") for line in lines[1:])
    assert f"and {30 - rows} more" in more
    assert len(lines) == 30
    small = shown(Sight(status=status(agents=5, waiting=9, tasks=5, events=5)), height=12)
    assert "no room for" in small[-1] or any("not shown here" in line for line in small)


def test_what_the_snapshot_left_out_is_counted_too() -> None:
    cut = status(agents=2, truncated={"active_agents": 7})
    assert "and 7 more" in shown(Sight(status=cut), height=40)
    assert "agents 9" in shown(Sight(status=cut), height=40)


def test_a_done_wave_takes_one_row_so_that_the_next_is_seen() -> None:
    focus = {
        "filename": "task-0",
        "goal": "Work",
        "waves": [
            {"wave": 1, "title": "Base", "tasks": [{"number": 1, "title": "a", "status": "done"}]},
            {
                "wave": 2,
                "active": True,
                "tasks": [{"number": 2, "title": "b", "status": "running"}],
            },
        ],
        "readiness": {"status": "implementing"},
    }
    lines = shown(Sight(status=status(tasks=1, focus=focus)))
    begin = lines.index("task task-0  wave running · 1/2 done")
    assert lines[begin + 1 : begin + 5] == [
        "Work",
        "wave 1: Base  ✓ 1/1 done",
        "wave 2",
        "  ● 2. b  running",
    ]
    assert not any(line.startswith("tasks") for line in lines), "the only task is told once"


@settings(max_examples=60, deadline=None)
@given(
    width=st.integers(1, 260),
    height=st.integers(1, 80),
    agents=st.integers(0, 30),
    waiting=st.integers(0, 30),
    tasks=st.integers(0, 30),
    name=st.text(max_size=30),
    problem=st.sampled_from(["", "The store is damaged."]),
)
def test_every_size_is_kept(
    width: int, height: int, agents: int, waiting: int, tasks: int, name: str, problem: str
) -> None:
    seen = status(
        agents=agents, waiting=waiting, tasks=tasks, events=agents, project=name.replace("\n", "")
    )
    lines = draw(Sight(status=seen, problem=problem), width=width, height=height)
    assert len(lines) == height
    assert {cell_len(line.plain) for line in lines} == {width}


@settings(deadline=None)
@given(
    rows=st.integers(1, 4).flatmap(
        lambda columns: st.lists(
            st.lists(st.text("a日é😀", max_size=60), min_size=columns, max_size=columns), max_size=5
        )
    ),
    width=st.integers(1, 120),
    stretch=st.integers(-1, 3),
)
def test_rows_of_a_grid_have_one_width(rows: list[list[str]], width: int, stretch: int) -> None:
    lines = grid([[Text(cell) for cell in row] for row in rows], width, keep=2, stretch=stretch)
    assert len(lines) == len(rows)
    assert {line.cell_len for line in lines} <= {width}


@given(
    left=st.text("a日", max_size=40), right=st.text("b日", max_size=40), width=st.integers(1, 80)
)
def test_two_ends_of_a_line_fill_it(left: str, right: str, width: int) -> None:
    assert spread(Text(left), Text(right), width).cell_len == width


@given(
    sizes=st.lists(st.integers(0, 30), max_size=5),
    hidden=st.integers(0, 5),
    room=st.integers(0, 60),
)
def test_a_stack_keeps_its_room(sizes: list[int], hidden: int, room: int) -> None:
    sections = [
        Section(Text(f"section {n}"), [Text(f"row {n}")] * size, hidden)
        for n, size in enumerate(sizes)
    ]
    unseen: list[str] = []
    lines = [line.plain.strip() for line in stack(sections, room, 20, unseen)]
    assert len(lines) <= room
    if room >= sum(size + 3 for size in sizes):
        assert [lines.count(f"row {n}") for n in range(len(sizes))] == sizes
        assert unseen == []
