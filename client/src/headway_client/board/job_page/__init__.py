"""What does the page of one job show beside its document? The same in the terminal and in a browser (decision 83)."""

from __future__ import annotations
