"""The screen of one job, which is read again while it is open."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from headway.sanitize import strip_control_characters
from headway_client.board.job_page.figures import Figures
from headway_client.board.job_page.text import Section, page_sections
from headway_client.errors import ClientError
from headway_client.models import JobDetails

REFRESH_S = 20.0
"""Interval at which the job is read again while its screen is open and the terminal has the focus."""

_MARGIN = 4
"""Columns beside the text: padding, and the scroll bar."""


class JobScreen(ModalScreen[None]):
    """Shows a job with its attempts, utilization, log and history.

    Args:
        job: the job, as it was read.
        read_job: reads it again; None if there were too many calls, or nobody looks.
        now_s: the queue's time, s since 1970.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "close", "Close"),
        Binding("f5", "refresh", "Refresh"),
    ]

    def __init__(
        self,
        job: JobDetails,
        *,
        read_job: Callable[[], JobDetails | None],
        read_figures: Callable[[JobDetails], Figures],
        now_s: Callable[[], float],
    ) -> None:
        super().__init__()
        self._job = job
        self._figures: Figures | None = None
        self._error = ""
        self._read_job = read_job
        self._read_figures = read_figures
        self._now_s = now_s
        self._reading = threading.Lock()

    def compose(self) -> ComposeResult:
        """Show the job."""
        yield Static(id="job-head")
        with VerticalScroll(classes="job"):
            yield Static(id="job-text")
        yield Static(Text("Esc close   F5 read again   arrows scroll"), classes="keys")

    def on_mount(self) -> None:
        """Begin to read."""
        self.query_one(VerticalScroll).focus()
        self.set_interval(REFRESH_S, self.action_refresh)
        self._draw()
        self._read(again=False)

    def on_resize(self, _: events.Resize) -> None:
        """Fit the lines to the screen."""
        self._draw()

    def action_refresh(self) -> None:
        """Read the job again."""
        self._read(again=True)

    def action_close(self) -> None:
        """Close the screen."""
        self.dismiss(None)

    @work(thread=True)
    def _read(self, *, again: bool) -> None:
        # CloudWatch may take longer than the interval.
        if not self._reading.acquire(blocking=False):
            return
        try:
            job = self._read_job() if again else self._job
            if job is not None:
                self._job, self._figures, self._error = job, self._read_figures(job), ""
        except ClientError as error:
            self._error = str(error)
        finally:
            self._reading.release()
        self.app.call_from_thread(self._draw)

    def _draw(self) -> None:
        head = Text(self._job.name, style="bold", no_wrap=True, overflow="ellipsis")
        if self._error:
            head.append(f"   NOT READ AGAIN: {strip_control_characters(self._error)}", style="bold red")
        self.query_one("#job-head", Static).update(head)
        width = max(20, self.size.width - _MARGIN)
        sections = page_sections(self._job, self._figures, now_s=self._now_s(), width=width)
        self.query_one("#job-text", Static).update(Text("\n\n").join(map(_text, sections)))


def _text(section: Section) -> Text:
    lines = "\n".join(section.lines)
    return Text.assemble((section.title, "bold"), "\n", lines) if section.title else Text(lines)
