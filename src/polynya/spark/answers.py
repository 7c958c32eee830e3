"""Errors on their way from a worker to the driver, where they are raised as what they were."""

import importlib

from polynya.errors import PolynyaError


def told(error: PolynyaError) -> dict[str, object]:
    """The error as the fields `error_class` and `error`."""
    known = next(one for one in type(error).__mro__ if one.__module__ == PolynyaError.__module__)
    return {"error_class": known.__name__, "error": str(error)}


def error_of(error_class: str, error: str) -> PolynyaError:
    """The error that such fields tell."""
    made: PolynyaError = getattr(importlib.import_module(PolynyaError.__module__), error_class)(error)
    return made
