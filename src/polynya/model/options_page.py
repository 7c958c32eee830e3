"""docs/options.md, made from the options themselves."""

from polynya.model.option_kinds import Kind, Support
from polynya.model.options import FAMILIES, OPTIONS, AnyOption

_HEAD = """# Table options

Made by `polynya.model.options_page`; change the options, not this page.

Options are Paimon's own. A value that polynya does not honour, and that would change rows, is refused with an error
that names it; the default of an option is always fine. An unknown key is refused when a table is created, and left
alone in tables that have it.
"""
_SECTIONS = {
    Support.HONOURED: "Honoured",
    Support.REFUSED_ON_WRITE: "Refused on write",
    Support.REFUSED_ON_READ: "Refused on read and write",
    Support.IRRELEVANT: "No effect on rows",
}


def render_page() -> str:
    """The text of the page."""
    listed = sorted((*OPTIONS.values(), *FAMILIES), key=lambda option: option.key)
    parts = [_HEAD]
    for support, title in _SECTIONS.items():
        reasons = support is not Support.HONOURED
        parts.append(f"\n## {title}\n\n| option | kind | default | meaning |{' why |' if reasons else ''}\n")
        parts.append(f"|---|---|---|---|{'---|' if reasons else ''}\n")
        parts += [_line(option, reasons) for option in listed if option.support is support]
    return "".join(parts)


def _line(option: AnyOption, reasons: bool) -> str:
    kind = ", ".join(option.choices) if option.kind is Kind.CHOICE else str(option.kind)
    older = f" (also {', '.join(f'`{key}`' for key in option.fallbacks)})" if option.fallbacks else ""
    fine = f"; fine: {', '.join(option.accepted)}" if option.accepted else ""
    why = f" {option.reason}{fine} |" if reasons else ""
    return f"| `{option.key}`{older} | {kind} | {option.default or '–'} | {option.meaning} |{why}\n"
