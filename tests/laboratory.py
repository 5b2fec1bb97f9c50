"""Steps of a user that the page of `lasthop serve` and the static page share.

With LASTHOP_PICTURES set to a folder, the pictures of the documents are written there.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from browser import Page

PICTURES = os.environ.get("LASTHOP_PICTURES")


def go(page: Page, address: str) -> None:
    """Go to an address of the page: what follows the `#`."""
    page.value(f"location.hash = {address!r}")


def show(page: Page, name: str, selector: str = "") -> None:
    """Write the picture `laboratory-NAME.png` for the documents, with an element at its top."""
    if PICTURES is None:
        return
    page.value(f"document.querySelector({selector!r})?.scrollIntoView()" if selector else "scrollTo(0, 0)")
    time.sleep(0.3)
    page.picture(Path(PICTURES) / f"laboratory-{name}.png")


def change_the_rate(page: Page) -> str:
    """Set the rate of the link of quickstart, which is open, to 4 Mbit/s in the form; return the text."""
    page.wait("document.querySelector('#group-links-0')")
    page.value("document.querySelectorAll('.form details').forEach((each) => (each.open = true))")
    page.fill("#field-links-0-down-rate", "4 Mbit/s")
    page.wait("document.querySelector('.text textarea').value.includes('down = { rate = \"4 Mbit/s\"')")
    text = str(page.value("document.querySelector('.text textarea').value"))
    assert '# "down" leads from the first to the second' in text
    return text


def save_as_one_file(page: Page, folder: Path) -> Path:
    """Save the run that is shown into an empty folder, and return the file."""
    page.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    page.click("Save as one file")
    until = time.monotonic() + 30
    while not (saved := list(folder.glob("*.html"))):
        assert time.monotonic() < until, "nothing was saved"
        time.sleep(0.1)
    return saved[0]


def do_a_lesson(page: Page) -> None:
    """Answer the question of a lesson in the list, which is open, and let the run answer."""
    page.click("Slow start and its overshoot")
    page.fill(".questions input", "80")
    page.click("Let the run answer")
    page.wait("document.querySelector('.answer strong')")
    assert "The run gives 83 packets: as you expected." in page.text()
