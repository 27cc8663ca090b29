"""What counts as a failure of the viewer in a soak."""

from __future__ import annotations

from nlil_bench.soak import Answer, figures, growth, is_clear

AWAY = "/rule/3: the run keeps changing while it is read; try again"


def test_only_a_503_with_a_sentence_is_none() -> None:
    assert is_clear(Answer(503, "rule", 0.1, AWAY))
    assert not is_clear(Answer(503, "rule", 0.1))
    assert not is_clear(Answer(500, "rule", 0.1, AWAY))
    answers = [Answer(200, "home", 0.1), Answer(404, "rule", 0.2), Answer(503, "rule", 0.3, AWAY)]
    assert figures(answers, 1.0)["failures"] == 0
    found = figures([*answers, Answer(500, "ask", 0.4, "broken"), Answer(0, "ask", 9.0, "reset")], 1.0)
    assert (found["failures"], found["requests"], found["slowest_ms"]) == (2, 5, 400.0)
    assert found["statuses"] == {0: 1, 200: 1, 404: 1, 500: 1, 503: 1}


def test_memory_is_compared_by_quarters() -> None:
    assert growth([1, 1, 2, 2, 3, 3, 4, 4]) == {"quarter 1": 1, "quarter 2": 2, "quarter 3": 3, "quarter 4": 4}
