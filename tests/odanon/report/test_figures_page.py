"""The page of figures in the documentation is what the code declares."""

from repository import REPOSITORY

from odanon.report.figures import figures_page


def test_the_page_is_up_to_date() -> None:
    assert (REPOSITORY / "docs" / "figures.md").read_text() == figures_page(), "run `make schema`"
