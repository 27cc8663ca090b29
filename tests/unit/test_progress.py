"""Stop: when to end early, and what a part of the time is."""

from __future__ import annotations

from nlil.progress import Stop


def test_a_part_ends_first_and_the_whole_remembers_that_something_was_left_out() -> None:
    whole = Stop(1000.0)
    part = whole.part(1e-9)
    while not part():
        pass
    assert (part.cut, whole.cut) == (True, True)
    assert not whole()  # there is time left for the other stages


def test_a_part_ends_with_the_whole() -> None:
    whole = Stop()
    part = whole.part(0.5)
    assert not part()
    assert not whole.cut
    whole.set()
    assert part()
    assert whole()


def test_a_limit_of_time_is_that_of_the_whole_too() -> None:
    assert not Stop().is_timed
    assert not Stop().part(0.5).is_timed
    assert Stop(9.0).is_timed
    assert Stop(whole=Stop(9.0)).is_timed
