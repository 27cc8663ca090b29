"""Surprising predictions: in no split, with a good score, few answers beside them."""

from __future__ import annotations

from report_cases import dataset, learned

from nlil import KnowledgeBase, explain
from nlil.explanation.rule_card import RuleCards
from nlil.explanation.why import Explainer
from nlil.logic.text import fact_text
from nlil.report.contents import Surprise, surprises

RULE = "speaks(X, Y) :- lives_in(X, Z1), language(Z1, Y)."


def found(kb: KnowledgeBase, known: KnowledgeBase | None = None, count: int = 9) -> tuple[Surprise, ...]:
    data = learned(kb, (RULE,))
    explainer = Explainer(data.rules, kb)
    facts = (known or kb).facts
    return surprises(explainer, RuleCards(data.rules, kb, facts), data.targets, count)


def base(*more: tuple[str, str, str]) -> KnowledgeBase:
    """Ten people of one place; two of them are not said to speak its language, one of these speaks two others."""
    facts = [("paris", "language", "french")]
    facts += [(f"p{i}", "lives_in", "paris") for i in range(10)]
    facts += [(f"p{i}", "speaks", "french") for i in range(8)]
    return KnowledgeBase.from_facts([*facts, ("p8", "speaks", "latin"), ("p8", "speaks", "greek"), *more])


def test_few_answers_come_first_and_the_score_is_that_of_explain() -> None:
    kb = base()
    shown = found(kb)
    assert [fact_text(s.explanation.fact) for s in shown] == ["speaks(p9, french)", "speaks(p8, french)"]
    assert [s.num_answers for s in shown] == [0, 2]
    for surprise in shown:
        why = explain(learned(kb, (RULE,)).rules, kb, surprise.explanation.fact)
        assert abs(why.score - surprise.explanation.score) < 1e-8
        assert not surprise.explanation.known


def test_what_another_split_has_is_no_surprise() -> None:
    whole = base(("p9", "speaks", "french"))
    data = dataset(whole)
    kb = data.kb
    last = (kb.facts.subject == kb.entities.id("p9")) & (kb.facts.predicate == kb.predicate_id(kb.predicate("speaks")))
    kb = kb.with_facts(kb.facts[~last])
    assert [fact_text(s.explanation.fact) for s in found(kb)] == ["speaks(p9, french)", "speaks(p8, french)"]
    assert [fact_text(s.explanation.fact) for s in found(kb, whole)] == ["speaks(p8, french)"]


def test_the_list_is_bounded() -> None:
    assert len(found(base(), count=1)) == 1
    assert found(base(), count=0) == ()
