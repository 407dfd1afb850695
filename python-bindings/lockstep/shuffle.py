"""The order of the examples in an epoch, the same as the runtime's.

`runtime/data/Shuffle.h` defines the generator and the shuffle. With this module
a script can train another system with the same batches as `lockstep-run`:

    for epoch in range(epochs):
        for rows in shuffle.global_batches(seed, epoch, len(x), 4 * 32):
            step(x[rows], y[rows])

It needs NumPy only.
"""

import numpy as np

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
#: Number of words computed at a time.
_BLOCK = 1 << 16


def _mix(z):
    """The output function of SplitMix64, on an array of uint64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _mix_int(z):
    """The same for one Python integer, modulo 2^64."""
    return int(_mix(np.array([z & _MASK], np.uint64))[0])


def words(seed, epoch):
    """Yields the 64-bit words of an epoch as Python integers, without end."""
    key = _mix_int(_mix_int(seed + _GOLDEN) + (epoch + 1) * _GOLDEN)
    counter = np.arange(1, _BLOCK + 1, dtype=np.uint64) * np.uint64(_GOLDEN)
    while True:
        yield from _mix(counter + np.uint64(key)).tolist()
        key = (key + _BLOCK * _GOLDEN) & _MASK


def _below(stream, bound):
    """Draws a number in [0, bound), exactly uniform."""
    while True:
        product = next(stream) * bound
        if product & _MASK >= (1 << 64) % bound:
            return product >> 64


def order(seed, epoch, examples):
    """Returns the order of an epoch, a permutation of 0, ..., examples - 1.

    Args:
      seed: of the run, 0 to 2^64 - 1.
      epoch: number of the epoch, from 0.
      examples: their number.
    """
    result = list(range(examples))
    stream = words(seed, epoch)
    for i in range(examples - 1, 0, -1):
        j = _below(stream, i + 1)
        result[i], result[j] = result[j], result[i]
    return np.array(result, np.int64)


def global_batches(seed, epoch, examples, size):
    """Yields the rows of each global batch of an epoch, arrays of `size`
    indices.

    Replica r of N takes the r-th N-th of them. The rest of the epoch that does
    not fill a batch is dropped.
    """
    rows = order(seed, epoch, examples)
    for begin in range(0, examples - size + 1, size):
        yield rows[begin : begin + size]
