"""Each flow of the viewer in a real browser, on a desktop's and on a phone's width. Screenshots go to a temporary
folder, or to the one that NLIL_SCREENSHOTS names, to be looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viewer_runs import EVIL, UNICODE

Shot = Callable[[str], None]


@pytest.fixture
def shot(page: Any, tmp_path: Path, width: int) -> Shot:
    folder = Path(os.environ.get("NLIL_SCREENSHOTS") or tmp_path)

    def take(name: str) -> None:
        fits(page)
        page.screenshot(path=folder / f"{name}-{width}.png", full_page=True)

    return take


def fits(page: Any) -> None:
    """The page itself never scrolls sideways; wide tables and pictures do so inside it."""
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), page.url


def test_search_as_you_type(page: Any, family_address: str, shot: Shot) -> None:
    page.goto(family_address)
    shot("home")
    field = page.get_by_label("Search an entity or a predicate")
    field.press_sequentially("aun")
    page.wait_for_selector(".suggestions li")
    assert "aunt" in page.locator(".suggestions li").first.inner_text()
    shot("suggestions")
    field.press("Escape")
    assert page.locator(".suggestions").first.is_hidden()
    field.fill("")
    field.press_sequentially("aunt")
    page.wait_for_selector(".suggestions li")
    field.press("ArrowDown")
    assert field.get_attribute("aria-activedescendant")
    field.press("Enter")
    page.wait_for_url("**/predicate/*")
    assert "aunt" in page.locator("h1").inner_text()


def test_a_name_that_is_markup_stays_a_name(page: Any, family_address: str, shot: Shot) -> None:
    page.goto(family_address)
    field = page.get_by_label("Search an entity or a predicate")
    field.press_sequentially("onerr")
    page.locator(".suggestions li", has_text="onerr").first.click()  # not one of "on" before the rest was typed
    page.wait_for_url("**/entity/*")
    assert EVIL in page.locator("h1").inner_text()
    page.locator("a.why").first.click()
    page.wait_for_url("**/explain*")
    assert page.locator("img").count() == 0
    assert page.title().endswith("· nlil")
    shot("markup")


def test_rules_are_sorted_filtered_and_paged(page: Any, family_address: str, shot: Shot) -> None:
    page.goto(family_address)
    page.get_by_role("link", name="brother", exact=True).click()
    assert "adds" in page.locator("ol.theory li").first.inner_text()
    assert page.locator("table.rules").is_hidden()
    shot("theory")
    page.locator("#pool > summary").click()
    page.get_by_role("link", name="support").click()
    page.wait_for_url("**sort=support*")
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("support")
    supports = [int(text.split()[0]) for text in page.locator("td:nth-child(4)").all_inner_texts()]
    assert supports == sorted(supports, reverse=True)
    shot("predicate")
    page.get_by_role("link", name="next ›").click()
    page.wait_for_url("**page=2*")
    page.get_by_label("confidence at least").fill(".9")
    page.get_by_label("length at most").fill("2")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**min_confidence=.9*")
    assert "page=2" not in page.url
    shares = [float(text.split()[0]) for text in page.locator("td:nth-child(3)").all_inner_texts()]
    assert shares
    assert min(shares) >= 0.9


def test_a_rule_is_paged_judged_and_the_answer_changes(page: Any, family_address: str, shot: Shot, width: int) -> None:
    question = f"{family_address}/ask?q=aunt(sophie1, ?)"
    page.goto(question)
    shot("ask")
    before, rule = page.locator("main").inner_text(), page.locator(".waterfall tbody a").first.inner_text()
    page.locator(".waterfall tbody a").first.click()
    page.wait_for_url("**/rule/*")
    shot("rule")
    address = page.url
    page.get_by_label("Note").fill("holds only for\nmy <b>family</b>")
    page.get_by_role("button", name="Reject").click()
    page.wait_for_selector("h1 .mark.rejected")
    assert "my <b>family</b>" in page.locator("#verdict p").first.inner_text()
    shot("rejected")
    page.goto(question)
    assert rule in before
    assert rule not in page.locator("main").inner_text()
    page.goto(f"{family_address}/feedback")
    assert page.locator(".mark.rejected").count() == 1
    shot("feedback")
    page.goto(address)
    page.get_by_role("button", name="Withdraw").click()
    page.wait_for_selector("h1 .mark", state="detached")
    page.goto(question)
    assert page.locator("main").inner_text() == before


def test_why_one_answer_rather_than_another(page: Any, family_address: str, shot: Shot) -> None:
    page.goto(f"{family_address}/ask?q=aunt(sophie1, ?)")
    first, second = page.locator("table.answers tbody tr td:nth-child(2)").all_inner_texts()[:2]
    page.get_by_label(f"why {first} rather than {second}").click()
    page.wait_for_url("**/contrast*")
    assert f"rather than {second}" in page.locator("h1").inner_text()
    assert page.locator("h2").count() == 2
    shot("contrast")
    page.get_by_role("link", name="The other way round").click()
    page.wait_for_url("**/contrast*")
    assert f"rather than {first}" in page.locator("h1").inner_text()


def test_an_explanation_begins_with_a_sentence(page: Any, family_address: str, shot: Shot) -> None:
    page.goto(f"{family_address}/explain?q=aunt(sophie1, kate2)")
    assert "because" in page.locator("p.english").inner_text()
    assert page.locator("table.facts tbody tr").count() > 0
    shot("explain")


def test_why_one_class_rather_than_another(page: Any, scene_address: str, shot: Shot) -> None:
    page.goto(f"{scene_address}/explain?q=person('12p')")
    shot("explain-class")
    page.locator("main a.why[href^='/contrast']").first.click()
    page.wait_for_url("**/contrast*")
    assert "rather than" in page.locator("h1").inner_text()
    shot("contrast-class")


def test_instances_page_by_page(page: Any, family_address: str) -> None:
    page.goto(f"{family_address}/predicate/1?sort=support&order=falling")
    page.locator("table.rules tbody a").first.click()
    page.wait_for_url("**/rule/*")
    first = page.locator(".instances").first.inner_text()
    page.locator("nav[aria-label='Pages (examples)'] a[rel=next]").click()
    page.wait_for_url("**examples=2*")
    assert page.locator(".instances").first.inner_text() != first
    assert page.locator(".instances").first.get_attribute("start") == "11"


def test_ask_by_choosing_names_and_look_at_the_shares(page: Any, family_address: str, shot: Shot) -> None:
    page.goto(f"{family_address}/ask")
    page.get_by_label("or a predicate", exact=True).press_sequentially("niec")
    page.locator(".suggestions:visible li").first.click()
    page.get_by_label("and an entity", exact=True).press_sequentially("漢")
    page.locator(".suggestions:visible li").first.click()
    assert page.get_by_label("and an entity", exact=True).input_value() == UNICODE
    page.get_by_label("as its").select_option("object")
    page.get_by_role("button", name="Ask").nth(1).click()
    page.wait_for_url("**predicate=niece*")
    marks = page.locator(".answers .mark").all_inner_texts()
    assert "known" in marks
    assert len(page.locator(".answers svg").all()) == len(marks)
    page.locator(".answers a.shares").nth(2).click()
    page.wait_for_url("**answer=3*")
    assert "rank 3" in page.locator("#waterfall").inner_text()
    shot("shares")


def test_the_proof_is_a_graph_to_click_in(page: Any, family_address: str, shot: Shot) -> None:
    page.goto(f"{family_address}/explain?q=aunt(sophie1, kate2)")
    shot("explain")
    nodes = page.locator(".picture a.node")
    assert nodes.count() >= 3
    name = nodes.nth(2).get_attribute("aria-label")
    nodes.nth(2).click()
    page.wait_for_url("**/entity/*")
    assert name in page.locator("h1").inner_text()
    shot("entity")
    page.go_back()
    page.get_by_role("link", name="why not more?").click()
    page.wait_for_url("**/why-not*")


def test_why_not(page: Any, family_address: str, shot: Shot) -> None:
    page.goto(f"{family_address}/why-not")
    page.get_by_label("A fact such as").fill("aunt(jack1, kate2)")
    page.get_by_role("button", name="Ask").click()
    page.wait_for_url("**q=aunt*")
    assert re.search(r"with \w+\(.*\): probability \.\d+ score", page.locator("main").inner_text())
    shot("why-not")


def test_a_scene_is_a_picture(page: Any, scene_address: str, shot: Shot) -> None:
    page.goto(f"{scene_address}/explain?q=person(12p)")
    boxes = page.locator(".picture a.node")
    assert boxes.count() == 4
    shot("scene")
    page.locator(".picture a.node[aria-label='12s']").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/entity/*")
    assert "Most probable classes" in page.locator("main").inner_text()
    shot("object")


def test_everything_is_within_reach_of_the_keyboard(page: Any, family_address: str) -> None:
    page.goto(f"{family_address}/predicate/0")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert float(outline.removesuffix("px")) >= 2
    names = page.evaluate(
        "[...document.querySelectorAll('input:not([type=hidden]), select, textarea, button, a')]"
        ".filter(e => !(e.labels?.length || e.textContent.trim() || e.ariaLabel)).length"
    )
    assert names == 0


def test_long_names_fit(page: Any, family_address: str, shot: Shot) -> None:
    page.goto(f"{family_address}/search?q=married_to")
    shot("found")
    page.locator(".found a").click()
    page.wait_for_url("**/predicate/*")
    shot("long")
    page.locator("#pool > summary").click()
    page.locator("table.rules tbody a").first.click()
    page.wait_for_url("**/rule/*")
    shot("long-rule")
    page.locator(".instances a.why").first.click()
    page.wait_for_url("**/explain*")
    shot("long-explain")


def test_an_error_is_a_page(page: Any, family_address: str, shot: Shot) -> None:
    page.goto(f"{family_address}/ask?q=aunt(sophi, ?)")
    assert "unknown entity" in page.get_by_role("alert").inner_text()
    assert page.get_by_label("Your query").input_value() == "aunt(sophi, ?)"
    shot("error")
    page.get_by_role("link", name="aunt(sophie1, ?)").click()
    page.wait_for_url("**sophie1*")
    assert page.locator("table.answers tbody tr").count() > 0
    page.complaints.clear()  # the browser itself notes that the page is a 404


def test_what_stands_out_is_on_the_first_page(page: Any, family_address: str, shot: Shot) -> None:
    page.goto(family_address)
    wanted = page.get_by_role("region", name="Most probable new facts").locator("li")
    for _ in range(240):  # they are found in the background
        if wanted.count():
            break
        page.wait_for_timeout(500)
        page.reload()
    assert float(wanted.first.locator("b").inner_text()) > float(wanted.last.locator("b").inner_text()) - 1e-9
    shot("home-found")
    wanted.first.get_by_text("why?").click()
    page.wait_for_url("**/explain*")
    assert "because" in page.locator("p.english").inner_text()


def test_the_graph_grows(page: Any, family_address: str, shot: Shot) -> None:
    page.goto(f"{family_address}/search?q=sophie1")
    page.locator(".found a").first.click()
    page.wait_for_url("**/entity/*")
    nodes = page.locator(".picture a.node")
    before = nodes.count()
    other = page.locator(".picture a.node[aria-label$='show its neighbours']").first
    name = other.get_attribute("aria-label").removesuffix(", show its neighbours")
    other.click()
    page.wait_for_url("**open=*")
    assert nodes.count() > before
    shot("grown")
    page.locator(f".picture a.node[aria-label='{name}, its page']").click()
    page.wait_for_url(lambda address: "open=" not in address)
    assert name in page.locator("h1").inner_text()


PATHS = (
    *(
        "/",
        "/entity/1?open=2",
        "/predicate/1",
        "/predicate/1?sort=support",
        "/rule/0",
        "/feedback",
        "/search?q=a",
        "/ask",
    ),
    *("/ask?q=aunt(sophie1, ?)", "/explain?q=aunt(sophie1, kate2)", "/contrast?q=aunt(sophie1, kate2)&than=jack1"),
    *("/why-not?q=aunt(jack1, kate2)", "/ask?q=aunt(nobody, ?)"),
)


def test_no_serious_finding_of_axe(page: Any, family_address: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="NO AXE: accessibility was not tested")
    found = {}
    for path in PATHS:
        page.goto(family_address + path)
        fits(page)
        said = axe.Axe().run(page).response["violations"]
        found[path] = [(v["id"], v["nodes"][0]["html"]) for v in said if v["impact"] in ("serious", "critical")]
    page.complaints.clear()  # an error page is a 404
    assert found == {path: [] for path in PATHS}
