"""The compiled half of the text readers: from bytes to labels, indices and values."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._numba.compile import inlined, kernel

TAB, NEWLINE, VERTICAL, RETURN, SPACE, HASH = 9, 10, 11, 13, 32, 35
PLUS, MINUS, POINT, ZERO, COLON = 43, 45, 46, 48, 58
CAPITAL_E, SMALL_E = 69, 101
QID = np.frombuffer(b"qid:", dtype=np.uint8)

# What `parse_lines` or `parse_numbers` stopped at.
DONE, BAD_LABEL, BAD_QID, BAD_PAIR, BAD_INDEX, DUPLICATE, BAD_NUMBER, TOO_MANY = range(8)
# What `_number` found.
NO_NUMBER, EXACT, LONG = range(3)

# The digits of a number that surely fits into 64 bits.
DIGITS = 18
# m · 10^e is correctly rounded by one operation if m ≤ 2^53 and |e| ≤ 22: both factors are exact.
EXACT_INTEGER = 2**53
POWERS = np.array([10.0**k for k in range(23)])
# Larger exponents give zero or infinity, whatever the digits.
HUGE_EXPONENT = 100_000
LEAST_POWER, MOST_POWER = -342, 308


def _powers_of_five() -> NDArray[np.uint64]:
    """5^q with 128 bits, the first of them 1, as two words: cut off, rounded up for −27 ≤ q < 0."""
    rows = []
    for q in range(LEAST_POWER, MOST_POWER + 1):
        if q >= 0:
            size = (5**q).bit_length()
            bits = 5**q << 128 - size if size <= 128 else 5**q >> size - 128
        else:
            bits = 2 ** (128 + (5**-q - 1).bit_length()) // 5**-q
            bits = (bits >> bits.bit_length() - 128) + (q >= -27)
        rows.append((bits >> 64, bits & 2**64 - 1))
    return np.array(rows, dtype=np.uint64)


FIVES = _powers_of_five()
ONE, HALF, LOW_HALF = np.uint64(1), np.uint64(32), np.uint64(2**32 - 1)
TOP_BIT = np.uint64(2**63)
# The product of the words is sure to 55 bits unless the bits after them are all ones.
UNSURE = np.uint64(2**9 - 1)


class Parsed(NamedTuple):
    """How far `parse_lines` came, and what it saw on the way."""

    code: int  # DONE, or what is wrong with the token at `start`
    start: int  # of the last token
    line: int  # lines finished
    rows: int
    entries: int
    waiting: int  # numbers left to Python
    lowest: int  # index
    highest: int  # index
    highest_line: int  # where it stands
    dropped: int  # entries with an index beyond the largest one


@inlined
def _is_blank(byte):  # type: ignore[no-untyped-def]
    return byte in (SPACE, TAB) or VERTICAL <= byte <= RETURN


@inlined
def _ends_token(byte):  # type: ignore[no-untyped-def]
    return byte in (NEWLINE, HASH) or _is_blank(byte)


@inlined
def _product(a, b):  # type: ignore[no-untyped-def]
    """The high and the low word of the product of two words."""
    a_high, a_low, b_high, b_low = a >> HALF, a & LOW_HALF, b >> HALF, b & LOW_HALF
    low = a_low * b_low
    first, second = a_high * b_low, a_low * b_high
    middle = (low >> HALF) + (first & LOW_HALF) + (second & LOW_HALF)
    high = a_high * b_high + (first >> HALF) + (second >> HALF) + (middle >> HALF)
    return high, (middle << HALF) | (low & LOW_HALF)


@inlined
def _rounded(mantissa, q):  # type: ignore[no-untyped-def]
    """mantissa · 10^q, correctly rounded, or −1 in the rare cases that need more digits.

    D. Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience 2021,
    Algorithm 1; the rare cases here are subnormal numbers, infinity, and undecided products.
    """
    if not LEAST_POWER <= q <= MOST_POWER:
        return -1.0
    word = np.uint64(mantissa)
    zeros = 0
    while word < TOP_BIT:
        word <<= ONE
        zeros += 1
    high, low = _product(word, FIVES[q - LEAST_POWER, 0])
    if high & UNSURE == UNSURE:
        carry, _ = _product(word, FIVES[q - LEAST_POWER, 1])
        low += carry
        if low < carry:
            high += ONE
        if low == np.uint64(2**64 - 1):
            return -1.0
    top = high >> np.uint64(63)
    shift = top + np.uint64(9)
    bits = high >> shift
    # 217706 / 2^16 approximates log2(10) well enough for these q.
    exponent = ((217706 * q) >> 16) + int(top) - zeros + 1086
    if not 0 < exponent < 2046:
        return -1.0
    halfway = bits & np.uint64(3) == ONE and bits << shift == high
    if low <= ONE and -4 <= q <= 23 and halfway:  # exactly between two: the even one
        bits -= ONE
    bits = (bits + (bits & ONE)) >> ONE
    return math.ldexp(float(bits), exponent - 1075)


@inlined
def _number(text, at):  # type: ignore[no-untyped-def]
    """Kind, value and end of the decimal number at a place; a LONG one is left to Python."""
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += 1
    mantissa = 0  # wraps around after DIGITS of them, and is not used then
    start = at
    while text[at] == ZERO:
        at += 1
    first = at
    digit = int(text[at]) - ZERO
    while 0 <= digit <= 9:
        mantissa = mantissa * 10 + digit
        at += 1
        digit = int(text[at]) - ZERO
    seen, digits = at - start, at - first
    exponent = 0
    if text[at] == POINT:
        at += 1
        start = at
        if digits == 0:
            while text[at] == ZERO:
                at += 1
        first = at
        digit = int(text[at]) - ZERO
        while 0 <= digit <= 9:
            mantissa = mantissa * 10 + digit
            at += 1
            digit = int(text[at]) - ZERO
        seen += at - start
        digits += at - first
        exponent = start - at
    if seen == 0:
        return NO_NUMBER, 0.0, at
    if text[at] == SMALL_E or text[at] == CAPITAL_E:
        at += 1
        falling = text[at] == MINUS
        if falling or text[at] == PLUS:
            at += 1
        first = at
        power = 0
        digit = int(text[at]) - ZERO
        while 0 <= digit <= 9:
            power = min(power * 10 + digit, HUGE_EXPONENT)
            at += 1
            digit = int(text[at]) - ZERO
        if at == first:
            return NO_NUMBER, 0.0, at
        exponent += -power if falling else power
    if digits > DIGITS:
        return LONG, 0.0, at
    if mantissa <= EXACT_INTEGER and -22 <= exponent <= 22:
        value = mantissa / POWERS[-exponent] if exponent < 0 else mantissa * POWERS[exponent]
    elif mantissa == 0:
        value = 0.0
    else:
        value = _rounded(mantissa, exponent)
        if value < 0:
            return LONG, 0.0, at
    return EXACT, -value if negative else value, at


class Numbers(NamedTuple):
    """How far `parse_numbers` came."""

    code: int  # DONE, or what is wrong with the token at `start`
    start: int  # of the last token
    line: int  # lines finished
    rows: int
    waiting: int  # numbers left to Python


@kernel
def parse_numbers(text, at, numbers, lines, waiting):  # type: ignore[no-untyped-def]
    """Parse the lines from a place on, each with as many numbers as ``numbers`` has columns.

    Parameters
    ----------
    text, at
        Bytes, the last of them a newline; and where to begin.
    numbers, lines
        One row a line is written: its numbers, and the number of lines before it.
    waiting
        For every LONG number: its place in ``numbers``, and that of its token.
    """
    columns = numbers.shape[1]
    start = at
    line = rows = late = 0
    while at < text.size:
        if text[at] == NEWLINE:
            at += 1
            line += 1
            continue
        if _is_blank(text[at]):
            at += 1
            continue
        start = at
        if rows == numbers.shape[0]:
            return Numbers(TOO_MANY, start, line, rows, late)
        for column in range(columns):
            while _is_blank(text[at]):
                at += 1
            first = at
            kind, value, at = _number(text, at)
            if kind == NO_NUMBER or not (text[at] == NEWLINE or _is_blank(text[at])):
                return Numbers(BAD_NUMBER, start, line, rows, late)
            if kind == LONG:
                waiting[late, 0], waiting[late, 1], waiting[late, 2] = (
                    rows * columns + column,
                    first,
                    at,
                )
                late += 1
            numbers[rows, column] = value
        while _is_blank(text[at]):
            at += 1
        if text[at] != NEWLINE:
            return Numbers(BAD_NUMBER, start, line, rows, late)
        lines[rows] = line
        rows += 1
    return Numbers(DONE, start, line, rows, late)


@kernel
def parse_lines(  # type: ignore[no-untyped-def]
    text, stop, least, most, drop, labels, ends, lines, unsorted, indices, values, waiting
):
    """Parse whole lines of ``label [qid:n] index:value … [# comment]``.

    Parameters
    ----------
    text, stop
        Bytes; those before ``stop`` are parsed, and the last of them is a newline.
    least, most
        The indices allowed.
    drop
        Leave out entries beyond ``most`` instead of stopping there.
    labels, ends, lines, unsorted
        One element a row is written: the label, the number of entries up to its end, the number
        of lines before it, and whether its indices are out of order.
    indices, values
        One element an entry is written.
    waiting
        For every LONG number: the place of its value (−1 − row for a label), and of its token.
    """
    at = start = line = rows = entries = late = dropped = 0
    lowest, highest, highest_line = most, -1, 0
    code = DONE
    while at < stop:
        byte = text[at]
        if byte == NEWLINE:
            at += 1
            line += 1
            continue
        if _is_blank(byte):
            at += 1
            continue
        if byte == HASH:
            while text[at] != NEWLINE:
                at += 1
            continue

        start = at
        kind, value, at = _number(text, at)
        if kind == NO_NUMBER or not _ends_token(text[at]):
            code = BAD_LABEL
            break
        if kind == LONG:
            waiting[late, 0], waiting[late, 1], waiting[late, 2] = -1 - rows, start, at
            late += 1
        labels[rows] = value
        lines[rows] = line
        unsorted[rows] = False

        last = -1
        qid_may_follow = True
        while True:
            while _is_blank(text[at]):
                at += 1
            byte = text[at]
            if byte in (NEWLINE, HASH):
                break
            start = at
            if qid_may_follow and byte == QID[0]:
                matched = 0
                while matched < 4 and text[at] == QID[matched]:
                    at += 1
                    matched += 1
                first = at
                while ZERO <= text[at] <= ZERO + 9:
                    at += 1
                if matched < 4 or at == first or not _ends_token(text[at]):
                    code = BAD_QID
                    break
                qid_may_follow = False
                continue
            qid_may_follow = False

            index = 0
            digit = int(byte) - ZERO
            while 0 <= digit <= 9:
                index = index * 10 + digit
                at += 1
                digit = int(text[at]) - ZERO
            if at == start or text[at] != COLON:
                code = BAD_PAIR
                break
            beyond = at - start > DIGITS or index > most
            if (beyond and not drop) or (index < least and not beyond):
                code = BAD_INDEX
                break
            first = at + 1
            kind, value, at = _number(text, first)
            if kind == NO_NUMBER or not _ends_token(text[at]):
                code = BAD_PAIR
                break
            if beyond:
                dropped += 1
                continue
            if index == last:
                code = DUPLICATE
                break
            if index < last:
                unsorted[rows] = True
            last = index
            if kind == LONG:
                waiting[late, 0], waiting[late, 1], waiting[late, 2] = entries, first, at
                late += 1
            indices[entries] = index
            values[entries] = value
            entries += 1
            lowest = min(lowest, index)
            if index > highest:
                highest, highest_line = index, line
        if code != DONE:
            break
        ends[rows] = entries
        rows += 1
    return Parsed(code, start, line, rows, entries, late, lowest, highest, highest_line, dropped)
