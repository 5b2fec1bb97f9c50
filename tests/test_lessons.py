"""Lessons of `lasthop serve`: each can be read, its knobs turn, and a run answers each of its questions."""

from __future__ import annotations

from pathlib import Path

import pytest

import lasthop
from lasthop.catalogue import LIBRARY
from lasthop.errors import InputError
from lasthop.serve import lessons

NAMES = sorted(path.parent.name for path in (LIBRARY / "lessons").glob("*/lesson.md"))


def summary(text: str, set_: dict[str, str]) -> dict[str, object]:
    overrides = [f"{key}={value}" for key, value in set_.items()]
    scenario = lasthop.parse_scenario(text, overrides=overrides, source=str(LIBRARY / "scenarios" / "x.toml"))
    return dict(lasthop.run(scenario).summary)


def test_there_are_eight_lessons() -> None:
    assert len(NAMES) == 8


@pytest.mark.parametrize("name", NAMES)
def test_every_knob_of_a_lesson_takes_all_its_values(tmp_path: Path, name: str) -> None:
    lesson = lessons.lesson(tmp_path, name)
    for knob in lesson["knobs"]:
        for value in knob["values"]:
            lasthop.parse_scenario(lesson["text"], overrides=[f"{knob['key']}={value}"])


@pytest.mark.parametrize("name", NAMES)
def test_a_run_answers_every_question_and_has_what_the_view_needs(tmp_path: Path, name: str) -> None:
    lesson = lessons.lesson(tmp_path, name)
    assert {"segments", "packets"} <= set(lasthop.parse_scenario(lesson["text"]).specification["record"]["tables"])
    for question in lesson["questions"]:
        answered = summary(lesson["text"], question.get("set", {}))
        assert lessons.answer(answered, question["measure"]) >= 0


def test_the_lessons_say_what_is_true(tmp_path: Path) -> None:
    """Claims of the lessons' explanations, by their own questions."""

    def answers(name: str) -> list[float]:
        lesson = lessons.lesson(tmp_path, name)
        asked = lesson["questions"]
        return [lessons.answer(summary(lesson["text"], each.get("set", {})), each["measure"]) for each in asked]

    drops, fewer, _ = answers("slow-start")
    assert fewer < drops / 2
    timeouts, reno, sack, needless = answers("loss-recovery")
    assert timeouts >= 1
    assert sack < reno / 1.5
    assert needless == 0
    without, eifel, f_rto = answers("spurious-timeout")
    assert without > 50
    assert eifel == f_rto == 1
    bloated, shorter, delay, _ = answers("bufferbloat")
    assert bloated > 0.5
    assert shorter == 0
    assert delay < 0.02
    resent, slow, fast = answers("reordering")
    assert resent > 10
    assert fast < slow / 2
    delayed, every, _ = answers("ack-frequency")
    assert every < delayed
    short_queue, long_queue, _ = answers("fairness")
    assert long_queue > 5 * short_queue
    fair, greedy, _ = answers("cell")
    assert fair < 0.01
    assert greedy > 0.1


def test_a_lesson_of_a_teacher_is_a_folder_with_a_file(tmp_path: Path) -> None:
    own = tmp_path / "lessons" / "mine"
    own.mkdir(parents=True)
    (own / "lesson.md").write_text(
        '+++\ntitle = "Mine"\nscenario = "quickstart"\n+++\n\nLook: <script>x</script> **this**.\n'
    )
    assert {"name": "mine", "title": "Mine", "summary": ""} in lessons.listed(tmp_path)
    html = lessons.lesson(tmp_path, "mine")["html"]
    assert "<strong>this</strong>" in html
    assert "<script>" not in html


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("no head", "has no head"),
        ("+++\ntitle = \n+++\n", "no TOML"),
        ('+++\ntitle = "x"\n+++\n', "scenario"),
        ('+++\ntitle = "x"\nscenario = "quickstart"\nknob = 1\n+++\n', "knob"),
        ('+++\ntitle = "x"\nscenario = "nothing"\n+++\n', "nothing"),
        ('+++\ntitle = "x"\nscenario = "../x.toml"\n+++\n', "no name"),
    ],
)
def test_a_wrong_lesson_says_what_is_wrong(tmp_path: Path, text: str, word: str) -> None:
    own = tmp_path / "lessons" / "mine"
    own.mkdir(parents=True)
    (own / "lesson.md").write_text(text)
    with pytest.raises(InputError, match=word):
        lessons.lesson(tmp_path, "mine")
    assert any(each["name"] == "mine" for each in lessons.listed(tmp_path))


def test_a_measure_that_a_run_does_not_give_is_said() -> None:
    with pytest.raises(InputError, match="no such number"):
        lessons.answer({"flows": [], "links": []}, "flows.x.elapsed_s")
