"""Studies in the browser and over HTTP: what ``mfbandit serve`` starts, and what other servers mount.

It needs the extra ``serve``. What stands here is for other rooms; modules with an underscore are private to this one,
which imports only from the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.serve._asgi import app, check_address, run
from mfbandit.serve._keys import new_token

__all__ = ["app", "check_address", "new_token", "run"]
