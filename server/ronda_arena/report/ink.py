"""From a drawing to markup of the page: the one place where colours become variables.

matplotlib draws with colours that stand for a role. Here they become classes, which the page's
style gives a colour for light, dark and paper. Names of entrants never reach matplotlib, which
would read some as formulas and lacks letters for others: a drawing holds marks, and they give way
to the names here.
"""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

import matplotlib as mpl
from markupsafe import Markup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK: Final = "#010000"
MUTED: Final = "#020000"
GRID: Final = "#030000"
ACCENT: Final = "#040000"
SERIES: Final = tuple(f"#0500{at:02x}" for at in range(6))
"""For what has to be told apart: causes of faults."""
AHEAD: Final = (31, 150, 128)
BEHIND: Final = (214, 104, 50)
"""Of pictures made of pixels: red, green and blue that can be seen on light and on dark."""

_ROLES: Final = {
    INK: "ink",
    MUTED: "muted",
    GRID: "grid",
    ACCENT: "accent",
    **{colour: f"s{at}" for at, colour in enumerate(SERIES)},
}
_SVG: Final = "{http://www.w3.org/2000/svg}"
_HREF: Final = "{http://www.w3.org/1999/xlink}href"
_MARK: Final = re.compile(r"§(\d+)§")
_REFERENCE: Final = re.compile(r"#([\w.-]+)")
_LINK: Final = re.compile(r"(?:#|url\(#)([\w.-]+)\)?")
_KEPT: Final = frozenset(
    {
        *("fill-opacity", "font-size", "opacity", "stroke-dasharray", "stroke-dashoffset"),
        *("stroke-linecap", "stroke-linejoin", "stroke-opacity", "stroke-width", "text-anchor"),
    }
)
_SETTINGS: Final[dict[Any, Any]] = {
    "axes.unicode_minus": True,
    "font.size": 12,
    "image.composite_image": False,
    "path.simplify": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "ronda",
}

_ONE_AT_A_TIME: Final = threading.Lock()
"""What is set for matplotlib is set for all threads."""


@contextmanager
def drawing() -> Iterator[None]:
    """Draw inside of this: whatever a user has set for matplotlib elsewhere does not count."""
    with _ONE_AT_A_TIME, mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def mark(entrant: int) -> str:
    """Return what a drawing writes in the place of a name."""
    return f"§{entrant}§"


def markup(figure: Figure, key: str, label: str, names: Sequence[str] = ()) -> Markup:
    """Return a drawing as an element of the page.

    `key` tells its ids from those of other drawings, `label` is read out in its place, `names`
    come where the marks are. Call it inside of `drawing`.
    """
    out = io.BytesIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(out, format="svg", transparent=True, metadata=nothing)
    root = ET.fromstring(out.getvalue())  # noqa: S314 -- written by matplotlib a moment ago
    _drop(root)
    linked = set(_links(root))
    for element in root.iter():
        _rewrite(element, key, linked, names)
    _flatten(root)
    root.attrib = {
        "class": "plot",
        "role": "img",
        "aria-label": label,
        "viewBox": root.attrib["viewBox"],
    }
    return Markup(ET.tostring(root, encoding="unicode"))  # noqa: S704 -- ElementTree has escaped it


def _drop(root: ET.Element) -> None:
    """Remove what the page says better itself, and what is not seen."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}style", f"{_SVG}metadata") or child.get("id") == "patch_1":
                parent.remove(child)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}defs", f"{_SVG}g") and not len(child):
                parent.remove(child)


def _links(root: ET.Element) -> Iterator[str]:
    for element in root.iter():
        for value in element.attrib.values():
            if found := _LINK.fullmatch(value):
                yield found[1]


def _rewrite(element: ET.Element, key: str, linked: set[str], names: Sequence[str]) -> None:
    element.tag = element.tag.removeprefix(_SVG)
    old, classes = element.attrib, []
    new: dict[str, str] = {}
    for name, value in old.items():
        if name == "style":
            classes += _style(value, new)
        elif name == "id":
            if value in linked:
                new["id"] = f"{key}-{value}"
        elif _LINK.fullmatch(value):
            own = "href" if name == _HREF else name
            new[own] = _REFERENCE.sub(rf"#{key}-\1", value)
        elif name == _HREF:
            new["href"] = value
        elif name != "transform" or not value.startswith("rotate(-0 "):
            new[name] = value
    if "d" in new:
        new["d"] = _shorter(new["d"])
    if classes:
        new["class"] = " ".join(classes)
    element.attrib = new
    element.tail = None
    element.text = _named(element.text, names)


def _style(style: str, attributes: dict[str, str]) -> list[str]:
    """Put declarations where a strict policy allows them: in attributes and classes."""
    classes = []
    for declaration in style.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name in ("fill", "stroke") and value.startswith("#"):
            classes.append(f"{name}-{_ROLES[value]}")
        elif name in ("fill", "stroke") or name in _KEPT:
            attributes[name] = value.removesuffix("px")
    return classes


def _shorter(path: str) -> str:
    """Return a path in tenths of a pixel and on one line."""
    return re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.1f}", " ".join(path.split()))


def _named(text: str | None, names: Sequence[str]) -> str | None:
    if text is None or not text.strip():
        return None
    found = _MARK.fullmatch(text)
    return names[int(found[1])] if found else text


def _flatten(root: ET.Element) -> None:
    """Take away groups that say nothing, innermost first."""
    for at, child in reversed(list(enumerate(root))):
        _flatten(child)
        if child.tag == "g" and not child.attrib:
            root[at : at + 1] = list(child)
