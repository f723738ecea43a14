"""Who may do what: the token, the cookie that stands for it, and links for people who grade."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets

from mfbandit._checks import one_of
from mfbandit.errors import InvalidInput

__all__ = ["Keys", "is_loopback", "new_token"]

_SHORTEST = 16


def new_token() -> str:
    """A token that nobody guesses.

    Examples
    --------
    >>> len(new_token()) > 20
    True
    """
    return secrets.token_urlsafe(24)


def is_loopback(host: str) -> bool:
    """Whether a name or an address is one that only this machine itself reaches.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    >>> is_loopback("localhost.evil.example"), is_loopback("")
    (False, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Keys:
    """What the owner of a page, and people who grade, show to prove who they are.

    Cookies hold a keyed hash of the token, never the token.

    Examples
    --------
    >>> keys = Keys("a token of some length", "open")
    >>> keys.is_owner("a token of some length"), keys.is_owner("another"), keys.is_owner(None)
    (True, False, False)
    >>> keys.is_owner(keys.cookie), Keys(None, "open").is_owner("None")
    (False, False)
    """

    def __init__(self, token: str | None, reading: str) -> None:
        one_of("reading", reading, ("open", "token"))
        if token is None:
            if reading == "token":
                raise InvalidInput("reading='token' needs a token")
        elif not isinstance(token, str) or len(token) < _SHORTEST or not (token.isascii() and token.isprintable()):
            raise InvalidInput(f"a token must have at least {_SHORTEST} plain ASCII characters, or nobody is kept out")
        self.reading_is_open = reading == "open"
        self._token = token
        #: Pages of several servers on one machine share their cookies: each has its own name.
        self.cookie_name = f"mfbandit_{self._keyed('name')[:8]}"
        self.cookie = self._keyed("cookie")

    @property
    def exist(self) -> bool:
        """Whether anybody can write."""
        return self._token is not None

    def is_owner(self, given: str | None) -> bool:
        """Whether somebody has the token."""
        return self._token is not None and _equal(given, self._token)

    def is_owners_cookie(self, given: str | None) -> bool:
        """Whether a browser has the cookie of the owner."""
        return self._token is not None and _equal(given, self.cookie)

    def grade_token(self, study: str) -> str:
        """What people need who grade a study; it opens nothing else."""
        return self._keyed(f"grade {study}")[:32]

    def grade_cookie_name(self, study: str) -> str:
        """The name of the cookie of people who grade a study."""
        return f"mfbandit_{self._keyed(f'grade name {study}')[:12]}"

    def grade_cookie(self, study: str) -> str:
        """What that cookie holds."""
        return self._keyed(f"grade cookie {study}")

    def is_grader(self, study: str, given: str | None, cookie: str | None) -> bool:
        """Whether somebody may grade a study, by the token of its link or its cookie."""
        if self._token is None:
            return False
        return _equal(given, self.grade_token(study)) or _equal(cookie, self.grade_cookie(study))

    def _keyed(self, what: str) -> str:
        return hmac.new((self._token or "").encode(), what.encode(), hashlib.sha256).hexdigest()


def _equal(given: str | None, wanted: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())
