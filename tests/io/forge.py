"""Model files with something changed: bytes, an array, the description, or the archive."""

import io
import json
import signal
import zipfile
from contextlib import contextmanager

import numpy as np

CODE = "__import__('os').system('touch ran')"


@contextmanager
def at_most(seconds):
    """Fails what does not end."""

    def stop(*_):
        raise TimeoutError("it does not end")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


ODD = (
    None,
    True,
    -1,
    0,
    1,
    2,
    13,
    10**9,
    10**30,
    1e308,
    -0.5,
    "",
    "x",
    "precomputed",
    [],
    {},
    [[]],
    CODE,
    "\x1b[2J",
    "l" * 100_000,
    [0] * 10_000,
)
ODD_NODES = ({"type": "float", "value": "nan"}, {"type": "float", "value": "inf"}, {"type": "tuple",
    "items": []}, {"type": "array", "array": 0}, {"type": "dict", "items": []})  # fmt: skip


def places_of(node, found):
    """All (container, key) pairs below a node."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        found.append((node, key))
        if isinstance(node[key], dict | list):
            places_of(node[key], found)
    return found


def forge_array(array, rng):
    choice = rng.integers(9)
    if choice == 0:
        return array[:-1]
    if choice == 1:
        return array.T
    if choice == 2:
        return array.reshape(-1)
    if choice == 3:
        return array.astype(rng.choice(["i1", "f4", "U5", "?", "c16", "M8[s]"]))
    if choice == 4:
        return np.zeros((0, *array.shape[1:]))
    if choice == 5:
        return array[..., None]
    if choice == 6:
        return np.zeros((len(array), 0)) if array.ndim else np.zeros(0)
    other = array.astype(float) if array.dtype.kind in "biuf" else array.copy()
    if other.size and other.dtype.kind == "f":
        other.flat[rng.integers(other.size)] = rng.choice([np.nan, np.inf, -1, 1e300, 1e9])
    return other


def damage(data, rng):
    """The bytes of a file, of which a few changed, most of them where it says what is where."""
    data = bytearray(data)
    places = rng.integers(len(data), size=rng.integers(1, 4))
    if rng.random() < 0.5:
        places = rng.integers(max(0, len(data) - 300), len(data), size=2)
    for place in places:
        data[place] = rng.integers(256)
    return bytes(data[: rng.integers(len(data))] if rng.random() < 0.06 else data)


def forge(data, rng):
    """The archive with one thing changed in its description, or one array."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    arrays = [name for name in contents if name != "model.json"]
    if arrays and rng.random() < 0.5:
        name = arrays[rng.integers(len(arrays))]
        with np.errstate(all="ignore"):
            try:
                array = forge_array(np.load(io.BytesIO(contents[name])), rng)
            except (IndexError, TypeError, ValueError):
                array = np.arange(3)
        stream = io.BytesIO()
        np.save(stream, array)
        contents[name] = stream.getvalue()
    else:
        header = json.loads(contents["model.json"])
        places = places_of(header["value"], [])
        for _ in range(rng.integers(1, 3)):
            container, key = places[rng.integers(len(places))]
            other, there = places[rng.integers(len(places))]
            action = rng.integers(4)
            if action == 0 and isinstance(container, dict):
                container.pop(key, None)
            elif action == 1:
                odd = [*ODD, *ODD_NODES]
                container[key] = odd[rng.integers(len(odd))]
            elif action == 2 and there in other if isinstance(other, dict) else there < len(other):
                container[key] = json.loads(json.dumps(other[there]))
            elif isinstance(container, list):
                container.append(container[0] if container else 0)
        contents["model.json"] = json.dumps(header).encode()
    return packed(contents)


def packed(contents, method=zipfile.ZIP_STORED):
    """An archive of these members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, member in contents.items():
            archive.writestr(name, member)
    return stream.getvalue()


def strange(data, rng):
    """An archive that promises more than it holds, unpacks to very much, or leads elsewhere."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    arrays = sorted(name for name in contents if name != "model.json")
    choice = rng.integers(8)
    if choice == 0:
        contents["../ran"] = b"ran"
    elif choice == 1:
        contents["model.json"] += b" " * 30_000_000
        return packed(contents, zipfile.ZIP_DEFLATED)
    elif choice == 2:
        contents["model.json"] = b"[" * 100_000
    elif choice == 3:
        contents["model.json"] = contents["model.json"].replace(b'"items": [', b'"items": [' * 3000)
    elif choice == 4 and arrays:  # the header of an array that would fill the memory
        name = arrays[rng.integers(len(arrays))]
        shape = (10 ** int(rng.integers(4, 18)), int(rng.integers(1, 9)))
        stream = io.BytesIO()
        about = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, about)
        contents[name] = stream.getvalue() + contents[name][-64:]
    elif choice == 5 and arrays:  # what numpy would unpickle
        stream = io.BytesIO()
        np.save(stream, np.array([CODE, {}], dtype=object), allow_pickle=True)
        contents[arrays[rng.integers(len(arrays))]] = stream.getvalue()
    elif choice == 6 and arrays:
        del contents[arrays[rng.integers(len(arrays))]]
    else:
        return b"PK\x05\x06" + data[rng.integers(len(data)) :]
    return packed(contents)


def changed(data, rng):
    """One of all these."""
    kind = rng.random()
    return (damage if kind < 0.3 else strange if kind < 0.4 else forge)(data, rng)
