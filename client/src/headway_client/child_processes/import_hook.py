"""Call a function when a module has been imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


def call_after_import(name: str, call: Callable[[], None]) -> None:
    """Call a function once, right after the first import of a module.

    Args:
        name: the module's full name.
        call: the function; what it raises, the import raises.
    """
    if name in sys.modules:
        call()
    else:
        sys.meta_path.insert(0, _Finder(name, call))


class _Finder(MetaPathFinder):
    def __init__(self, name: str, call: Callable[[], None]) -> None:
        self._name = name
        self._call = call
        self._searches = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname != self._name or self._searches:
            return None
        self._searches = True
        try:
            spec = find_spec(fullname)
        finally:
            self._searches = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._imported)
        return spec

    def _imported(self) -> None:
        # Not when it was searched: a search may be a question whether it is installed, and an import may fail.
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            self._call()


class _Loader(Loader):
    def __init__(self, loader: Loader, call: Callable[[], None]) -> None:
        self._loader = loader
        self._call = call

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module is as if it had never been wrapped: others read its loader, such as importlib.resources.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        # The import system does the same next, and what is called may need it.
        parent, _, child = module.__name__.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
        self._call()
