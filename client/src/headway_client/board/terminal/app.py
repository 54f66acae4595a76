"""The board in the terminal: pools, the queue with reasons, running jobs and events, and keys to change jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Protocol

from rich.text import Text
from textual import events, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Static

from headway.sanitize import strip_control_characters
from headway_client.board import rows
from headway_client.board.changes import CHANGES, JobActions, parsed_priority
from headway_client.board.job_page.reader import FigureReader
from headway_client.board.poller import Poller, Queue, View
from headway_client.board.rows import PARTS, Row, Selection
from headway_client.board.terminal.dialogs import Line, Question, Sheet
from headway_client.board.terminal.job_screen import JobScreen
from headway_client.errors import ClientError
from headway_client.models import Explanation, Job, JobDetails, PoolSummary

WIDE_COLUMNS = 140
"""From this width on, waiting and running jobs are side by side."""

TICK_S = 1.0
"""How often the board looks whether a call is due, and updates durations."""

_STYLES = {
    "busy": "on dark_cyan",
    "stopping": "on dark_orange3",
    "reserved": "on medium_purple4",
    "warm": "on gold3",
    "outside": "on red3",
    "free": "on grey30",
}

_HELP = """\
Tab                the next table            q        quit
Enter, s           show the job              w        why it is where it is
h                  hold it                   r        release it
x                  stop it                   p        change its priority
g                  go to a job by its name, such as a held one
/                  filter both tables        o        sort the table in another order
F5                 read again now            ?        this help

Each change asks first. The queue refuses changes that you have no right to.

The bar of a pool: busy, stopping, reserved for a waiting job, warm, outside the queue, free.
A waiting job shows when it starts: by the forecast, or by its reserved start at the latest.
While the terminal has no focus, the board reads every 30 s instead of every 10 s.
"""


class BoardApi(Queue, JobActions, Protocol):
    """The part of `headway_client.http.api.HeadwayApi` that the board calls."""

    def get_job(self, name: str) -> JobDetails:
        """Return a job."""

    def explain(self, name: str) -> Explanation:
        """Return why a job is in its state."""


class Board(App[None]):
    """The board.

    Args:
        api: the queue.
        client_of: returns a boto3 client of a service with the caller's credentials, which tries each call once.
        explained: formats why a job is in its state.
        poller: reads the summary; by default one of its own.
    """

    CSS_PATH = "board.tcss"
    TITLE = "headway"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "show", "Show"),
        Binding("w", "why", "Why"),
        Binding("h", "change('hold')", "Hold"),
        Binding("r", "change('release')", "Release"),
        Binding("x", "change('stop')", "Stop"),
        Binding("p", "priority", "Prio"),
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("o", "sort", "Sort"),
        Binding("g", "go", "Go to", show=False),
        Binding("f5", "refresh", "Refresh", show=False),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("q", "quit", "Quit", show=False),
    ]

    def __init__(
        self,
        api: BoardApi,
        client_of: Callable[[str], Any],
        explained: Callable[[Explanation], str],
        poller: Poller | None = None,
    ) -> None:
        super().__init__()
        self._api = api
        self._figures = FigureReader(client_of, now_s=api.now_s)
        self._explained = explained
        self._poller = poller or Poller(api)
        self._view = View()
        self._hidden = False
        self._selections = {"waiting": Selection(), "running": Selection()}
        #: The job that the keys act on in place of the selected one, after `g`.
        self._chosen = ""

    def compose(self) -> ComposeResult:
        """Create the parts of the board."""
        yield Static(id="head")
        yield Static(id="pools")
        with Container(id="tables"):
            for name, columns in (("waiting", rows.WAITING_COLUMNS), ("running", rows.RUNNING_COLUMNS)):
                table: DataTable[Text] = DataTable(id=name, cursor_type="row", zebra_stripes=True)
                table.add_columns(*columns)
                table.border_title = name
                yield table
        yield Static(id="events")
        yield Footer()

    def on_mount(self) -> None:
        """Begin to read."""
        self.query_one("#waiting").focus()
        self.set_interval(TICK_S, self._read)
        self._read()

    def on_resize(self, event: events.Resize) -> None:
        """Put the tables side by side where there is room."""
        self.set_class(event.size.width >= WIDE_COLUMNS, "wide")
        self._draw()

    def on_app_blur(self) -> None:
        """Read less often while the terminal has no focus."""
        self._hidden = True

    def on_app_focus(self) -> None:
        """Read at the usual interval again."""
        self._hidden = False

    @work(thread=True, exclusive=True, group="read")
    def _read(self) -> None:
        view = self._poller.poll(hidden=self._hidden)
        self.call_from_thread(self._show_view, view)

    def _show_view(self, view: View) -> None:
        self._view = view
        self._draw()

    # ----------------------------------------------------------------------------------------------------- drawing

    def _draw(self) -> None:
        if not self.is_running or not self.screen_stack[0].query("#head"):
            return
        self._part("head").update(self._head())
        summary = self._view.summary
        if summary is None:
            return
        width = self.size.width
        self._part("pools").update(Text("\n").join(_pool_line(pool, width) for pool in summary.pools))
        now_s = self._now_s()
        made = {
            "waiting": rows.waiting_rows(summary, self._selections["waiting"], now_s),
            "running": rows.running_rows(summary, self._selections["running"], now_s),
        }
        for name, found in made.items():
            self._fill(name, found)
        room = max(1, self._part("events").size.height)
        lines = Text("\n".join(rows.event_lines(summary)[:room]), no_wrap=True, overflow="ellipsis")
        self._part("events").update(lines)

    def _now_s(self) -> float:
        return self._view.read_s + self._view.age_s

    def _head(self) -> Text:
        view = self._view
        if view.summary is None:
            return Text(strip_control_characters(view.error or "Reading the queue …"), style="bold")
        counts = view.summary.counts
        more = "+" if view.summary.more_waiting and counts.waiting >= 1000 else ""
        head = Text(
            f"{counts.running} running   {counts.stopping} stopping   {counts.waiting}{more} waiting   "
            f"{counts.depending} waiting for others   {counts.held}{'+' if counts.more_held else ''} held",
            style="bold",
        )
        if view.error:
            note = f"   NOT CONNECTED, as of {int(view.age_s)} s ago: {view.error}"
            head.append(strip_control_characters(note), style="bold red")
        return head

    def _fill(self, name: str, found: list[Row]) -> None:
        table = self._table(name)
        selection = self._selections[name]
        shown = [f"{len(found)}", *([f"filter {selection.text}"] if selection.text else [])]
        shown += [f"by {selection.order}"] if selection.order else []
        table.border_title = Text(f"{name}: {', '.join(map(strip_control_characters, shown))}").markup
        kept = self._selected_in(table)
        place = table.cursor_row
        table.clear()
        for row in found:
            table.add_row(*map(Text, row.cells), key=row.job)
        names = [row.job for row in found]
        if names:
            table.move_cursor(row=names.index(kept) if kept in names else min(place, len(names) - 1))

    def _part(self, name: str) -> Static:
        # Dialogs may cover the board's own screen.
        return self.screen_stack[0].query_one(f"#{name}", Static)

    def _table(self, name: str) -> DataTable[Text]:
        table: DataTable[Text] = self.screen_stack[0].query_one(f"#{name}", DataTable)
        return table

    @staticmethod
    def _selected_in(table: DataTable[Text]) -> str:
        if not table.row_count:
            return ""
        key = table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value
        return key or ""

    def _focused(self) -> str:
        return "running" if self._table("running").has_focus else "waiting"

    def _job(self) -> str:
        """Return the job that keys act on; notify the user if there is none."""
        job = self._chosen or self._selected_in(self._table(self._focused()))
        if not job:
            self._say("No job is selected.")
        return job

    def _say(self, sentence: str, *, failed: bool = False) -> None:
        self.notify(strip_control_characters(sentence), severity="error" if failed else "information", markup=False)

    # -------------------------------------------------------------------------------------------------------- keys

    def on_data_table_row_selected(self) -> None:
        """Show the job of the row."""
        self.action_show()

    def action_show(self) -> None:
        """Show the selected job."""
        if job := self._job():
            self._open(lambda: self._job_screen(self._api.get_job(job)))

    def action_why(self) -> None:
        """Show why the selected job is where it is."""
        if job := self._job():
            self._open(lambda: Sheet(job, self._explained(self._api.explain(job))))

    def action_change(self, name: str) -> None:
        """Make a change of the selected job, after a question.

        Args:
            name: the name of the change.
        """
        job = self._job()
        if not job:
            return
        change = CHANGES[name]
        self._confirm(change.asked_of(job), job, lambda: change.make(self._api, job))

    def action_priority(self) -> None:
        """Change the priority of the selected job."""
        if job := self._job():
            self.push_screen(Line(f"Priority of {job}, 0 to 9999"), partial(self._ask_priority, job))

    def _ask_priority(self, job: str, text: str | None) -> None:
        if text is None:
            return
        priority = parsed_priority(text)
        if priority is None:
            self._say(f"{text!r} is not a whole number from 0 to 9999.", failed=True)
            return
        question = f"Change the priority of {job} to {priority}?"
        self._confirm(question, job, lambda: self._api.set_priority(job, priority))

    def _confirm(self, question: str, job: str, make: Callable[[], Job]) -> None:
        self.push_screen(Question(question), lambda confirmed: self._change(job, make) if confirmed else None)

    def action_go(self) -> None:
        """Choose a job by its name; keys act on it until another row is selected."""

        def chosen(name: str | None) -> None:
            if name and name.strip():
                self._chosen = name.strip()
                self._say(f"The keys act on {self._chosen}; press a cursor key to return to the tables.")

        self.push_screen(Line("Name of the job"), chosen)

    def on_key(self, event: events.Key) -> None:
        """Return to the selected row with the cursor keys."""
        if event.key in {"up", "down", "tab", "shift+tab"}:
            self._chosen = ""

    def action_filter(self) -> None:
        """Filter both tables."""

        def filtered(text: str | None) -> None:
            if text is not None:
                self._selections = {name: replace(each, text=text) for name, each in self._selections.items()}
                self._draw()

        self.push_screen(Line("Show rows that contain (empty: all)", self._selections["waiting"].text), filtered)

    def action_sort(self) -> None:
        """Sort the focused table in its next order."""
        name = self._focused()
        orders = list(rows.WAITING_ORDERS if name == "waiting" else rows.RUNNING_ORDERS)
        selection = self._selections[name]
        self._selections[name] = replace(selection, order=rows.next_order(orders, selection.order))
        self._draw()

    def action_refresh(self) -> None:
        """Read again now."""
        self._poller.refresh()
        self._read()

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(Sheet("Keys", _HELP))

    # ------------------------------------------------------------------------------------------------------- calls

    @work(thread=True, group="call")
    def _open(self, read: Callable[[], Screen[None]]) -> None:
        if not self._poller.reads.spend():
            self.call_from_thread(self._say, self._poller.reads.refusal(), failed=True)
            return
        try:
            screen = read()
        except ClientError as error:
            self.call_from_thread(self._say, str(error), failed=True)
            return
        self.call_from_thread(self.push_screen, screen)

    def _job_screen(self, job: JobDetails) -> JobScreen:
        def read_again() -> JobDetails | None:
            return None if self._hidden or not self._poller.reads.spend() else self._api.get_job(job.name)

        return JobScreen(job, read_job=read_again, read_figures=self._figures.read, now_s=self._now_s)

    @work(thread=True, group="call")
    def _change(self, job: str, make: Callable[[], Job]) -> None:
        try:
            changed = make()
        except ClientError as error:
            self.call_from_thread(self._say, str(error), failed=True)
            return
        self.call_from_thread(self._say, f"{job}: {changed.state}, {changed.reason.message}")
        self._poller.refresh()
        self.call_from_thread(self._read)


def _pool_line(pool: PoolSummary, width: int) -> Text:
    """Return the line of a pool: its name, its bar and its figures."""
    cells = max(10, min(60, width // 3))
    line = Text(f"{strip_control_characters(pool.pool.removeprefix('ml.')):<20.20} ", no_wrap=True, overflow="ellipsis")
    widths = rows.bar_widths(rows.pool_parts(pool), cells)
    for part in PARTS:
        line.append(" " * widths[part], style=_STYLES[part])
    return line.append(f" {rows.pool_note(pool)}")
