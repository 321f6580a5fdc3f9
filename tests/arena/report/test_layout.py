"""What of the page is in sight: no row is hidden without a word, and what matters first fits."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from tests.arena.report import made_up
from tests.arena.report.test_page import rendered, text, tree

from ronda_arena.report import page


def part(root: ET.Element, key: str) -> ET.Element:
    found = root.find(f".//section[@id='{key}']")
    assert found is not None
    return found


def made(name: str) -> str:
    style = tree(name).findtext("head/style")
    assert style
    return style


@pytest.mark.parametrize("count", [12, 60])
def test_a_table_of_sixty_rows_or_fewer_is_as_tall_as_its_rows(count: int) -> None:
    root = ET.fromstring(page.render(made_up.tournament(made_up.many(count))))
    assert not [one for one in root.iter("div") if "tall" in (one.get("class") or "").split()]
    assert "rows: scroll" not in text(root)
    tall = re.search(r"^\.scroll \{.*?\}", made("eight"), re.DOTALL | re.MULTILINE)
    assert tall is not None
    assert "max-height" not in tall[0]


def test_a_table_that_scrolls_by_itself_says_of_how_many_rows() -> None:
    region = part(tree("two hundred"), "ratings").find(".//div[@role='region']")
    assert region is not None
    assert region.get("class") == "scroll tall"
    assert "200 rows: scroll." in text(region.find(".//caption") or region)
    assert ".tall { max-height:" in rendered("two hundred")
