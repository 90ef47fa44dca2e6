"""Text from files on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with control characters spelled out: names in a file must not move the cursor or set colours.

    Line ends of our own and letters of any language stay; marks that turn the direction of others do not.
    """
    return "".join(
        letter if letter.isprintable() or letter == "\n" else letter.encode("unicode_escape").decode()
        for letter in text
    )
