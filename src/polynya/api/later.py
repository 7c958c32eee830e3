"""Modules that are loaded when they are first used: who only looks at a table waits for no reader or writer."""

import importlib


class Later:
    """Stands for a module; each name of it is looked up when it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> object:
        return getattr(importlib.import_module(self._name), attribute)
