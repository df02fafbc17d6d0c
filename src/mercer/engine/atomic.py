"""Files that are either the old ones or the new ones, whatever happens in between."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

fcntl: Any
try:
    import fcntl
except ImportError:  # of Windows, where open files cannot be replaced or removed anyway
    fcntl = None

_DRAFT = ".mercer-{}.part"


def write_atomically(path: str | os.PathLike[str], write: Callable[[BinaryIO], None]) -> None:
    """Call ``write`` on a new file that takes the place of ``path`` only once it is complete.

    Each call has a draft of its own in the same folder, so any number of threads and processes may
    write to one path: the last to finish wins. A link stays a link, and permissions stay as they
    are. A process that is killed leaves its draft behind; the next call in that folder removes it.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(target.parent)!r} to write to.")
    if target.exists() and not target.is_file():  # a pipe or device, which holds nothing to protect
        with open(target, "wb") as device:
            write(device)
        return
    _remove_abandoned(target.parent)
    draft, stream = _open_draft(target.parent)
    try:
        with stream:
            write(stream)
            stream.flush()
            _keep_owner_and_mode(stream, target)
            os.fsync(stream.fileno())
            if fcntl is not None:  # while the draft is locked
                os.replace(draft, target)
        if fcntl is None:
            os.replace(draft, target)
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


def _open_draft(folder: Path) -> tuple[Path, BinaryIO]:
    """A new file, locked for as long as it is open: that tells it from an abandoned one."""
    while True:
        draft = folder / _DRAFT.format(secrets.token_hex(8))
        stream = open(draft, "xb")  # noqa: SIM115 (the caller closes it)
        if fcntl is None:
            return draft, stream
        with suppress(OSError):  # a file system without locks: then nobody removes drafts either
            fcntl.flock(stream, fcntl.LOCK_EX)
        if draft.exists():
            return draft, stream
        stream.close()  # removed by another call, between the two lines above


def _remove_abandoned(folder: Path) -> None:
    """Remove the drafts that no process has open."""
    if fcntl is None:
        return
    for draft in folder.glob(_DRAFT.format("*")):
        with suppress(OSError), open(draft, "rb") as stream:  # somebody else's, or gone already
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            draft.unlink()


def _keep_owner_and_mode(stream: BinaryIO, target: Path) -> None:
    """Those of the file that is replaced, as far as we may."""
    if os.name != "posix" or not target.exists():
        return
    old, new = os.stat(target), os.fstat(stream.fileno())
    with suppress(PermissionError):
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            os.fchown(stream.fileno(), old.st_uid, old.st_gid)
    os.fchmod(stream.fileno(), stat.S_IMODE(old.st_mode))
