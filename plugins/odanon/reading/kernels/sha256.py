"""HMAC-SHA-256 (FIPS 180-4, RFC 2104) of many short texts at once; imported only by the function that runs it."""

import numpy as np
from numba import njit

_LOW_WORD = 2**32 - 1
_INITIAL = np.array(
    [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19], np.uint32
)


def _round_constants() -> np.ndarray:
    """The first 32 bits of the fractional parts of the cube roots of the first 64 primes, in exact integers."""
    primes = [n for n in range(2, 312) if all(n % d for d in range(2, int(n**0.5) + 1))]
    constants = []
    for prime in primes:
        scaled = prime << 96  # the cube root of p * 2**96 is the root of p times 2**32
        root = round(scaled ** (1 / 3))
        while root**3 > scaled:
            root -= 1
        while (root + 1) ** 3 <= scaled:
            root += 1
        constants.append(root & _LOW_WORD)
    return np.array(constants, np.uint32)


_K = _round_constants()


@njit(inline="always")
def _rotate(x, n):
    # Numba widens sums and shifts of 32-bit words to 64 bits; the casts bring them back.
    return np.uint32((x >> np.uint32(n)) | (x << np.uint32(32 - n)))


@njit(cache=True, nogil=True)
def _compress(state, w):
    """Mix the sixteen words at the start of `w` (64 words long) into the eight words of `state`."""
    for t in range(16, 64):
        x, y = w[t - 15], w[t - 2]
        s0 = _rotate(x, 7) ^ _rotate(x, 18) ^ (x >> np.uint32(3))
        s1 = _rotate(y, 17) ^ _rotate(y, 19) ^ (y >> np.uint32(10))
        w[t] = w[t - 16] + s0 + w[t - 7] + s1
    a, b, c, d, e, f, g, h = state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7]
    for t in range(64):
        s1 = _rotate(e, 6) ^ _rotate(e, 11) ^ _rotate(e, 25)
        first = np.uint32(h + s1 + ((e & f) ^ (~e & g)) + _K[t] + w[t])
        s0 = _rotate(a, 2) ^ _rotate(a, 13) ^ _rotate(a, 22)
        second = np.uint32(s0 + ((a & b) ^ (a & c) ^ (b & c)))
        h, g, f, e, d, c, b, a = g, f, e, np.uint32(d + first), c, b, a, np.uint32(first + second)
    state[0] += a
    state[1] += b
    state[2] += c
    state[3] += d
    state[4] += e
    state[5] += f
    state[6] += g
    state[7] += h


@njit(cache=True, nogil=True)
def _digest(state, w, data, begin, end):
    """Finish a hash whose first 64 bytes are already in `state` with the bytes [begin, end) of `data`."""
    length = end - begin
    padded = (length + 9 + 63) // 64 * 64
    for block in range(0, padded, 64):
        for word in range(16):
            value = np.uint32(0)
            for byte in range(4):
                at = block + 4 * word + byte
                octet = data[begin + at] if at < length else (0x80 if at == length else 0)
                value = np.uint32((value << np.uint32(8)) | octet)
            w[word] = value
        if block + 64 == padded:
            bits = np.uint64(length + 64) * np.uint64(8)
            w[14], w[15] = np.uint32(bits >> np.uint64(32)), np.uint32(bits & np.uint64(_LOW_WORD))
        _compress(state, w)


@njit(cache=True, nogil=True)
def hmac_words(key_block, data, offsets):
    """The first 8 bytes, as an integer, of the HMAC of each text; text i is `data[offsets[i]:offsets[i + 1]]`.

    `key_block` is the key padded with zeros to 64 bytes.
    """
    w = np.empty(64, np.uint32)
    pads = np.empty((2, 8), np.uint32)
    for side, pad in enumerate((0x36, 0x5C)):
        pads[side] = _INITIAL
        for word in range(16):
            value = np.uint32(0)
            for byte in range(4):
                value = np.uint32((value << np.uint32(8)) | (key_block[4 * word + byte] ^ pad))
            w[word] = value
        _compress(pads[side], w)
    result = np.empty(len(offsets) - 1, np.uint64)
    state = np.empty(8, np.uint32)
    for i in range(len(result)):
        state[:] = pads[0]
        _digest(state, w, data, offsets[i], offsets[i + 1])
        w[:8] = state
        w[8] = np.uint32(0x80000000)
        w[9:15] = np.uint32(0)
        w[15] = np.uint32(96 * 8)
        state[:] = pads[1]
        _compress(state, w)
        result[i] = (np.uint64(state[0]) << np.uint64(32)) | np.uint64(state[1])
    return result
