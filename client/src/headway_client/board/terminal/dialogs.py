"""The screens above the board: a question, a line of input, a text, the help."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from headway.sanitize import strip_control_characters


class Question(ModalScreen[bool]):
    """Asks whether a change should be made."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,escape,q", "answer(False)", "No"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """Show the question."""
        with Vertical(classes="dialog"):
            yield Static(Text(strip_control_characters(self._question)))
            yield Static(Text("y yes   n no"), classes="keys")

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001 - textual passes it by position
        """Close the screen with an answer."""
        self.dismiss(answer)


class Line(ModalScreen[str | None]):
    """Asks for a line of text.

    Args:
        title: what is asked for.
        value: the text to begin with.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel")]

    def __init__(self, title: str, value: str = "") -> None:
        super().__init__()
        self._title = title
        self._value = value

    def compose(self) -> ComposeResult:
        """Show the line."""
        with Vertical(classes="dialog"):
            yield Static(Text(strip_control_characters(self._title)))
            yield Input(value=self._value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close the screen with the text."""
        self.dismiss(event.value)

    def action_cancel(self) -> None:
        """Close the screen without a text."""
        self.dismiss(None)


class Sheet(ModalScreen[None]):
    """Shows a text that can be scrolled.

    Args:
        text: the text; line breaks are kept.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", "Close")]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        """Show the text."""
        lines = "\n".join(map(strip_control_characters, self._text.splitlines()))
        with VerticalScroll(classes="sheet"):
            yield Static(Text(strip_control_characters(self._title), style="bold"))
            yield Static(Text(lines), id="sheet-text")

    def action_close(self) -> None:
        """Close the screen."""
        self.dismiss(None)
