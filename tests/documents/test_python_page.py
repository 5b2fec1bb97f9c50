"""docs/python.md is made from the public names, and has all of them."""

from __future__ import annotations

import lasthop
from documents.python_page import PAGE, listed, page

TO_ASSERT = "renew it with `make record`"


def test_the_page_is_that_of_the_docstrings() -> None:
    assert PAGE.read_text() == page(), TO_ASSERT


def test_the_page_has_every_public_name() -> None:
    assert listed() == set(lasthop.__all__) - {"__version__", "errors"}
