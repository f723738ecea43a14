"""Sentences that all comparisons of logs end with."""

from __future__ import annotations

from mfbandit.logs._items_needed import ItemsNeeded

__all__ = ["about_more", "rests_on"]


def about_more(needed: ItemsNeeded, items: int, once: bool) -> str:
    """How many items would settle it.

    Examples
    --------
    >>> about_more(ItemsNeeded(300, None), 200, once=False)
    'About 300 items in all (100 more) would settle it with an even chance; for 4 chances in 5 no number can be told,
    the difference is too small beside its noise.'
    """
    if needed.even is None:
        return "How many items would settle it cannot be told: no difference is seen that further items would show."
    chance = (
        "for 4 chances in 5 no number can be told, the difference is too small beside its noise"
        if needed.likely is None
        else f"{needed.likely:,} with 4 chances in 5"
    )
    # After a single look the items seen are used up.
    what = "new items" if once else f"items in all ({needed.even - items:,} more)"
    return f"About {needed.even:,} {what} would settle it with an even chance; {chance}."


def rests_on(scale: tuple[float, float], once: bool) -> str:
    """What has to hold for what is said about all items."""
    looks = (
        "The number of items was fixed before anybody looked, and nobody looks again after adding items."
        if once
        else "You may look as often as you like, and add items of the same kind."
    )
    low, high = scale
    return (
        "This holds if the items are independent draws from those you want to know about, and scores lie between "
        f"{low:g} and {high:g}. {looks}"
    )
