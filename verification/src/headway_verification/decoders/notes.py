"""What a batch tells the process that watches it, in memory that both share: it is there however the batch ends."""

from __future__ import annotations

import mmap
import struct

MAX_INPUT_BYTES = 64 * 1024 * 1024
"""The longest input that is kept; none is nearly as long."""

_HEAD = struct.Struct("<QQQQQ")
_BEGUN, _ENDED, _REFUSED, _ACCEPTED, _LENGTH = range(5)


class Notes:
    """How far a batch is, and its newest input."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _HEAD.size + MAX_INPUT_BYTES)

    def begin(self, content: bytes) -> None:
        """Note the input of a call that begins."""
        head = self._read()
        head[_BEGUN] += 1
        head[_LENGTH] = min(len(content), MAX_INPUT_BYTES)
        self._memory[_HEAD.size : _HEAD.size + head[_LENGTH]] = content[:MAX_INPUT_BYTES]
        self._write(head)

    def end(self, *, refused: bool = False, accepted: bool = False) -> None:
        """Note that the call has ended."""
        head = self._read()
        head[_ENDED] += 1
        head[_REFUSED] += refused
        head[_ACCEPTED] += accepted
        self._write(head)

    @property
    def calls(self) -> int:
        """How many calls have begun."""
        return self._read()[_BEGUN]

    @property
    def is_calling(self) -> bool:
        """Whether a call has begun and not ended."""
        head = self._read()
        return head[_BEGUN] > head[_ENDED]

    @property
    def refused(self) -> int:
        """How many inputs were refused."""
        return self._read()[_REFUSED]

    @property
    def accepted(self) -> int:
        """How many inputs were accepted."""
        return self._read()[_ACCEPTED]

    @property
    def newest(self) -> bytes:
        """The input of the newest call."""
        return bytes(self._memory[_HEAD.size : _HEAD.size + self._read()[_LENGTH]])

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()

    def _read(self) -> list[int]:
        return list(_HEAD.unpack_from(self._memory))

    def _write(self, head: list[int]) -> None:
        _HEAD.pack_into(self._memory, 0, *head)
