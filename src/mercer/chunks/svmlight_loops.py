"""Lines of SVMlight files as numbers: the compiled loop."""

from __future__ import annotations

from .._compiled import njit

LABEL, PAIR, INDEX, ORDER = 1, 2, 3, 4  # what is wrong with a line

_SPACE, _TAB, _RETURN, _NEWLINE = 32, 9, 13, 10
_COLON, _HASH, _POINT, _PLUS, _MINUS, _ZERO, _NINE, _E = 58, 35, 46, 43, 45, 48, 57, 101
_EXACT = 9007199254740992  # 2^53: whole numbers up to it are doubles


@njit(cache=True, nogil=True)
def parse(text, powers, labels, starts, indices, values, hard):
    """Labels and pairs of all lines.

    A number m 10^e with m <= 2^53 and |e| <= 22 is m times, or divided by, a power of ten, and
    rounded once, so it is exact; places of all others are noted in ``hard``, as (slot, start,
    stop), with slot -1 - row for labels.

    Returns
    -------
    tuple of int
        Lines, pairs, hard numbers; what is wrong, and the place of it.
    """
    n = len(text)
    at, rows, pairs, unread = 0, 0, 0, 0
    starts[0] = 0
    while at < n:
        at = _skip(text, at)
        if at >= n:
            break
        if text[at] == _NEWLINE:  # an empty line, or one of comments
            at += 1
            continue
        if text[at] == _HASH:
            at = _line_end(text, at)
            continue
        stop = _token(text, at)
        if stop == at or (stop < n and text[stop] == _COLON):
            return rows, pairs, unread, LABEL, at
        exact, value = _number(text, at, stop, powers)
        labels[rows] = value
        if not exact:
            hard[unread, 0], hard[unread, 1], hard[unread, 2] = -1 - rows, at, stop
            unread += 1
        at, last = stop, -1
        while True:
            at = _skip(text, at)
            if at >= n or text[at] == _NEWLINE or text[at] == _HASH:
                break
            stop = _token(text, at)
            if stop >= n or text[stop] != _COLON:
                return rows, pairs, unread, PAIR, at
            first, end = stop + 1, _token(text, stop + 1)
            if end < n and text[end] == _COLON:
                return rows, pairs, unread, PAIR, at
            if stop - at == 3 and text[at] == 113:  # qid
                at = end
                continue
            index = _whole(text, at, stop)
            if index < 0:
                return rows, pairs, unread, INDEX, at
            if index <= last:
                return rows, pairs, unread, ORDER, at
            exact, value = _number(text, first, end, powers)
            if not exact:
                hard[unread, 0], hard[unread, 1], hard[unread, 2] = pairs, first, end
                unread += 1
            indices[pairs], values[pairs] = index, value
            pairs += 1
            last, at = index, end
        if at < n and text[at] == _HASH:
            at = _line_end(text, at)
        rows += 1
        starts[rows] = pairs
    return rows, pairs, unread, 0, 0


@njit(cache=True, nogil=True)
def _skip(text, at):
    while at < len(text) and (text[at] == _SPACE or text[at] == _TAB or text[at] == _RETURN):
        at += 1
    return at


@njit(cache=True, nogil=True)
def _line_end(text, at):
    while at < len(text) and text[at] != _NEWLINE:
        at += 1
    return at


@njit(cache=True, nogil=True)
def _token(text, at):
    """Where what begins here ends."""
    while at < len(text):
        c = text[at]
        if c <= _SPACE or c in (_COLON, _HASH):
            break
        at += 1
    return at


@njit(cache=True, nogil=True)
def _whole(text, at, stop):
    """A whole number, or -1."""
    if at == stop or stop - at > 18:
        return -1
    found = 0
    for i in range(at, stop):
        digit = int(text[i]) - _ZERO
        if digit < 0 or digit > 9:
            return -1
        found = 10 * found + digit
    return found


@njit(cache=True, nogil=True)
def _number(text, at, stop, powers):
    """Is it exact, and what is it?"""
    sign = 1.0
    if at < stop and (text[at] == _MINUS or text[at] == _PLUS):
        sign = -1.0 if text[at] == _MINUS else 1.0
        at += 1
    mantissa, exponent, digits, point = 0, 0, 0, False
    while at < stop:
        c = int(text[at])
        if _ZERO <= c <= _NINE:
            if mantissa > 99_999_999_999_999_999:
                return False, 0.0
            mantissa = 10 * mantissa + (c - _ZERO)
            digits += 1
            exponent -= point
        elif c == _POINT and not point:
            point = True
        else:
            break
        at += 1
    if digits == 0:
        return False, 0.0
    if at < stop:
        if text[at] | 32 != _E:
            return False, 0.0
        at += 1
        negative = False
        if at < stop and (text[at] == _MINUS or text[at] == _PLUS):
            negative = text[at] == _MINUS
            at += 1
        more = _whole(text, at, stop)
        if more < 0 or more > 99:
            return False, 0.0
        exponent += -more if negative else more
    if mantissa > _EXACT or exponent > 22 or exponent < -22:
        return False, 0.0
    value = float(mantissa)
    value = value / powers[-exponent] if exponent < 0 else value * powers[exponent]
    return True, sign * value
