"""What do the columns of a SCALE-Sim table mean? Its first line tells, by position and by heading.

Sizes are read by position, as SCALE-Sim does. A further column is read if its heading is one that
we know (:data:`FURTHER`), and refused if the heading says that it changes the work in another way.
Any other is passed over and named, if its heading says that it follows from the sizes
(:data:`_FOLLOWS`) or its values change nothing; else only a lenient reader passes it over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from prema_gym.errors import ConfigError

CONVOLUTION = (
    "IFMAP Height",
    "IFMAP Width",
    "Filter Height",
    "Filter Width",
    "Channels",
    "Num Filter",
    "Strides",
)
PRODUCT = ("M", "N", "K")
# What each heading of a convolution must contain: their spelling varies from file to file.
_KEYWORDS = ("ifmap", "ifmap", "filter", "filter", "channel", "filter", "stride")

FURTHER = {
    "strid": "stride",
    "dilat": "dilation",
    "pad": "padding",
    "group": "groups",
    "repe": "repeat",
    "count": "repeat",
    "batch": "batch",
    "spars": "sparsity",
}
"""How the heading of a further column begins → what the column holds."""

DEPTHWISE = "#dw"
"""A field of a row, in whatever further column, that marks it as depthwise."""

_OF_AXES = ("stride", "dilation", "padding")  # one column for both directions, or one for each
_OF_PRODUCTS = ("repeat", "batch", "sparsity")
# A heading with one of these in it says that the column changes the work.
_CHANGES = (*FURTHER, "transpos", "depthwise", "multiplier", "upsampl", "deconv")
# A heading with one of these in it, or one of the short ones, says what follows from the sizes, or
# what others made of them.
_FOLLOWS = (
    *("ofmap", "output", "mac", "flop", "param", "memory", "byte", "bit", "precision", "cycle"),
    *("latency", "util", "energy", "power", "index", "comment", "note", "descri", "label"),
)
_FOLLOWS_ALONE = ("eh", "ew", "e2", "id", "no", "ops", "size", "time", "timems", "timeus")
_NUMBER = re.compile(r"[-+]?[0-9]*[.]?[0-9]+")
_OTHER_KIND = re.compile(r"depth|dw|transpos|deconv|pool|group", re.IGNORECASE)


@dataclass(frozen=True)
class Line:
    """A line that is not empty.

    Attributes:
        where: File and line number, for messages.
        number: Line number.
        fields: Its fields without blanks around them; empty ones at the end are dropped.
    """

    where: str
    number: int
    fields: tuple[str, ...]

    def field(self, index: int | None) -> str:
        """A field, empty if there is no such column or the line ends before it."""
        return self.fields[index] if index is not None and index < len(self.fields) else ""


@dataclass(frozen=True)
class Header:
    """What the columns mean.

    Attributes:
        sizes: The sizes that follow a layer's name.
        further: Position of each further column that is read; of those for one direction,
            ``stride height`` and ``stride width``.
        ignored: Position → heading of those that are passed over.
        width: Number of columns.
    """

    sizes: tuple[str, ...]
    further: dict[str, int]
    ignored: dict[int, str]
    width: int

    @property
    def is_product(self) -> bool:
        """Whether rows are products, not convolutions."""
        return self.sizes == PRODUCT

    def column(self, name: str, axis: str = "") -> int | None:
        """Position of a further column, that of one direction if there is one."""
        return self.further.get(f"{name} {axis}", self.further.get(name))

    def check_ignored(self, line: Line) -> None:
        """Refuse a value of a column that is passed over, if it may change the work of its layer.

        Raises:
            ConfigError: It is a number other than 0 and 1, or names another kind of layer, and the
                heading does not say that it follows from the sizes.
        """
        for at, heading in self.ignored.items():
            value, word = line.field(at), _letters(heading)
            is_number = _NUMBER.fullmatch(value) and float(value) not in (0, 1)
            if value.lower() == DEPTHWISE or not (is_number or _OTHER_KIND.search(value)):
                continue
            if word not in _FOLLOWS_ALONE and not any(part in word for part in _FOLLOWS):
                raise ConfigError(
                    f"column {heading or at + 1!r} may change the work of a layer, got {value!r}, "
                    "and is not read here; --lenient, or ?lenient behind the file's name, passes "
                    "it over"
                )


ALLOWED = (
    f"the first line must be 'Layer, {', '.join(PRODUCT)}' or "
    f"'Layer name, {', '.join(CONVOLUTION)}'"
)


def read_header(line: Line) -> Header:
    """What the columns are, read off the first line.

    Raises:
        ConfigError: It is no header of ours, or a column changes the work in a way not known here.
    """
    headings = [_letters(field) for field in line.fields]
    if tuple(headings[1:4]) == ("m", "n", "k"):
        sizes: tuple[str, ...] = PRODUCT
    elif len(headings) > len(_KEYWORDS) and all(map(str.__contains__, headings[1:], _KEYWORDS)):
        sizes = CONVOLUTION
    else:
        raise ConfigError(f"{ALLOWED}, got {', '.join(line.fields)!r}")
    further: dict[str, int] = {}
    ignored: dict[int, str] = {}
    for at in range(1 + len(sizes), len(headings)):
        name = _meaning(headings[at], sizes)
        if name in further:
            raise ConfigError(f"two columns hold the {name}: {line.fields[at]!r} is the second")
        if name:
            further[name] = at
        elif any(word in headings[at] for word in _CHANGES):
            raise ConfigError(
                f"column {line.fields[at]!r} changes the work of a layer, and is not read here: "
                f"read are {', '.join(dict.fromkeys(FURTHER.values()))} of convolutions and "
                f"{', '.join(_OF_PRODUCTS)} of products"
            )
        else:
            ignored[at] = line.fields[at]
    if sizes == CONVOLUTION:
        _first_stride(headings[len(sizes)], len(sizes), further)
    return Header(sizes, further, ignored, len(line.fields))


def _first_stride(heading: str, at: int, further: dict[str, int]) -> None:
    """The stride among the sizes is that of one direction if there is another column for one."""
    others = {name for name in further if name.startswith("stride")}
    if not others:
        further["stride"] = at
        return
    name = f"stride {_axis(heading) or 'height'}"
    other = next(iter(others))
    if other == "stride":  # the second of two columns without a direction
        further["stride width"] = further.pop("stride")
    elif other == name or len(others) > 1:
        raise ConfigError(f"two columns hold the {name}")
    further[name] = at


def _letters(heading: str) -> str:
    """A heading without case, blanks and signs, so that spellings compare."""
    return "".join(c for c in heading.lower() if c.isalnum())


def _meaning(heading: str, sizes: tuple[str, ...]) -> str:
    """What a further column holds, empty if its heading does not say."""
    found = (name for start, name in FURTHER.items() if heading.startswith(start))
    name = next(found, "")
    if sizes == PRODUCT and name not in _OF_PRODUCTS:
        return ""
    return f"{name} {_axis(heading)}".strip() if name in _OF_AXES else name


def _axis(heading: str) -> str:
    """The direction that a heading names."""
    if "width" in heading or heading.endswith(("w", "x")):
        return "width"
    return "height" if "height" in heading or heading.endswith(("h", "y")) else ""
