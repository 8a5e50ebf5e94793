"""Looking again and again: cadence, backoff, what is kept and what is held on to."""

from kasmos_plugin.cli.live import change_key, sight
from kasmos_plugin.cli.look import Asked
from kasmos_plugin.cli.watcher import Looking, Watcher, delay_s
from kasmos_plugin.contract.live_status import LiveStatus
from kasmos_plugin.errors import KasmosError, StoreError
from tests.cli.test_screen import status


class Eyes:
    """A look that answers what it is told to, on a clock that is moved by hand."""

    def __init__(self, *answers: LiveStatus | KasmosError) -> None:
        self.answers = list(answers)
        self.asked: list[Asked] = []
        self.now = 100.0

    def __call__(self, asked: Asked) -> LiveStatus:
        self.asked.append(asked)
        answer = self.answers.pop(0)
        if isinstance(answer, KasmosError):
            raise answer
        return answer


def _watcher(eyes: Eyes, **asked: str) -> Watcher:
    return Watcher(Asked(**asked), eyes, monotonic=lambda: eyes.now)  # type: ignore[arg-type]  # texts


def test_failures_slow_it_down_and_one_success_resets() -> None:
    assert [delay_s(failures) for failures in (0, 1, 2, 3, 4, 50)] == [2, 4, 8, 16, 30, 30]
    eyes = Eyes(status(), *[StoreError("gone")] * 3, status())
    watcher = _watcher(eyes)
    waits = []
    for _ in range(5):
        watcher.look_once()
        waits.append(watcher.retry_s)
        eyes.now = watcher.next_at
    assert waits == [2.0, 4.0, 8.0, 16.0, 2.0]


def test_a_failure_keeps_the_last_good_snapshot_and_its_age() -> None:
    good = status(tasks=2)
    eyes = Eyes(good, StoreError("gone", hint="look"))
    watcher = _watcher(eyes)
    watcher.look_once()
    eyes.now += 7
    watcher.look_once()
    seen = sight(watcher)
    assert (seen.status, seen.age_s, seen.problem, seen.hint) == (good, 7.0, "gone", "look")
    assert seen.retry_s == 4.0


def test_the_only_task_is_shown_in_full_at_once_and_stays_when_it_is_done() -> None:
    eyes = Eyes(status(tasks=1), status(tasks=1), status(), status(tasks=2), status())
    watcher = _watcher(eyes)
    waits = []
    for _ in range(5):
        watcher.look_once()
        waits.append(watcher.retry_s)
    assert [asked.focus for asked in eyes.asked] == ["", "task-0", "task-0", "task-0", ""]
    assert waits == [0.0, 2.0, 2.0, 0.0, 2.0]


def test_a_task_that_was_asked_for_is_never_changed() -> None:
    eyes = Eyes(status(tasks=1), status(tasks=1))
    watcher = _watcher(eyes, focus="mine")
    watcher.look_once()
    watcher.look_once()
    assert [asked.focus for asked in eyes.asked] == ["mine", "mine"]


def test_the_project_that_was_shown_stays_though_another_appears() -> None:
    eyes = Eyes(status(), status())
    watcher = _watcher(eyes)
    watcher.look_once()
    watcher.look_once()
    assert [asked.project for asked in eyes.asked] == ["", "demo"]
    watcher.show("other")
    eyes.answers.append(status(project="other"))
    watcher.look_once()
    assert eyes.asked[-1].project == "other"


def test_an_answer_for_a_project_left_meanwhile_is_dropped() -> None:
    def answer_late(asked: Asked) -> LiveStatus:
        watcher.show("other")
        return status()

    watcher = Watcher(Asked(), answer_late)
    watcher.look_once()
    assert watcher.status is None


def test_a_bug_in_a_look_reaches_the_loop() -> None:
    def broken(asked: Asked) -> LiveStatus:
        raise ZeroDivisionError

    looking = Looking(Watcher(Asked(), broken))
    looking.start()
    looking.join(5)
    assert looking.news.is_set()
    assert isinstance(looking.bug, ZeroDivisionError)


def test_only_a_change_is_news() -> None:
    before = status(agents=2, tasks=1)
    later = before.model_copy(update={"uptime": "9m0s"})
    assert change_key(before) == change_key(later)
    assert change_key(before) != change_key(status(agents=1, tasks=1))
