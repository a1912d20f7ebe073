"""Chromium for tests of pages: offline, and with an ear for whatever goes wrong."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The machine's Chromium."""
    from playwright.sync_api import sync_playwright

    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    assert program, "no chromium: apt-get install chromium, or name one by CHROMIUM"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., tuple[Page, list[str]]]]:
    """Opens a file offline; the list fills with whatever went wrong or tried to leave."""
    contexts = []

    def opens(path: Path, **options: Any) -> tuple[Page, list[str]]:
        context = browser.new_context(offline=True, **options)
        contexts.append(context)
        page, trouble = context.new_page(), list[str]()
        page.on("console", lambda message: trouble.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", lambda dialog: trouble.append(f"dialog: {dialog.message}"))
        page.on(
            "request",
            lambda asked: (
                trouble.append(f"request: {asked.url}")
                if not asked.url.startswith(("file:", "data:"))
                else None
            ),
        )
        page.goto(path.as_uri())
        return page, trouble

    yield opens
    for context in contexts:
        context.close()
