"""The page as an ASGI application, and a server that runs it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from mfbandit._optional import optional
from mfbandit.errors import InvalidInput, OutputError
from mfbandit.serve._keys import Keys, is_loopback
from mfbandit.serve._open_studies import OpenStudies
from mfbandit.serve.people._showing import as_show
from mfbandit.storage import Storage, open_storage

__all__ = ["app", "check_address", "run"]

#: Seconds that open requests get to end when the server does.
_GRACE_SECONDS = 2


def app(
    storage: str | Storage,
    *,
    token: str | None = None,
    reading: str = "open",
    show: Any = None,
    allow_changed_policy: bool = False,
) -> Any:
    """Make an ASGI application that shows the studies of a storage and takes in results.

    Parameters
    ----------
    storage : str or Storage
        Where the studies are: a SQLite file, a URL, or a storage object.
    token : str, optional
        What writing needs, at least 16 characters; without one nobody can write. `new_token` makes one.
    reading : {"open", "token"}
        Who may read. "open": everybody who reaches it under a name of this machine itself (127.0.0.1, localhost).
        "token": whoever has the token, under any name.
    show : callable or path, optional
        What people are shown who grade pulls of fidelities with ``by="people"``: a function of a pull that returns an
        object with "item" and "answer" (or "answers", two of them), or a file of such objects as JSON lines.
    allow_changed_policy : bool
        As for `load_study`.

    Returns
    -------
    ASGI application
        Mount it where you like, or run it with any ASGI server.

    Examples
    --------
    >>> import mfbandit as mf
    >>> from mfbandit.storage import MemoryStorage
    >>> from mfbandit.serve import app
    >>> storage = MemoryStorage()
    >>> study = mf.create_study(mf.Problem(["a", "b"], [("exact", 1.0)]), storage=storage, name="mine")
    >>> page = app(storage)
    """
    for module in ("starlette", "sse_starlette"):
        optional(module, f"the page needs {module.replace('_', '-')}", "serve")
    from mfbandit.serve.web._site import make_site

    keys = Keys(token, reading)
    studies = OpenStudies(open_storage(storage, existing=True), allow_changed_policy)
    return make_site(studies, keys, as_show(show))


def run(page: Any, host: str = "127.0.0.1", port: int = 0, ready: Callable[[int], Any] | None = None) -> None:
    """Serve an ASGI application until the process is told to end.

    Parameters
    ----------
    page : ASGI application
        What `app` made.
    host : str
        The address to listen on.
    port : int
        The port; 0 is any that is free.
    ready : callable, optional
        Called with the port as soon as it is taken.
    """
    uvicorn = optional("uvicorn", "the page needs uvicorn", "serve")
    if not 0 <= port < 65536:
        raise InvalidInput(f"port must be a whole number from 0 to 65535, got {port!r}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except (OSError, OverflowError, UnicodeError) as error:
        raise OutputError(f"cannot listen on {host!r}, port {port}: {error}") from error
    config = uvicorn.Config(
        page,
        log_level="warning",
        access_log=False,
        server_header=False,
        # Nobody else's word counts for where a request comes from.
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    with listening:
        if ready is not None:
            ready(listening.getsockname()[1])
        uvicorn.Server(config).run(sockets=[listening])


def check_address(host: str, token: str | None) -> bool:
    """Whether only this machine itself reaches an address; refuses another one without a token.

    Examples
    --------
    >>> check_address("127.0.0.1", None)
    True
    >>> check_address("0.0.0.0", None)
    Traceback (most recent call last):
    mfbandit.errors.InvalidInput: other machines can reach host '0.0.0.0': give a token that they need ...
    """
    if is_loopback(host):
        return True
    if token is None:
        raise InvalidInput(
            f"other machines can reach host {host!r}: give a token that they need (MFBANDIT_TOKEN or --token), or "
            "leave the host at 127.0.0.1"
        )
    return False
