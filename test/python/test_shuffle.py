"""The order of the examples: the same values as
test/runtime/data/ShuffleTest.cpp.
"""

import zlib

import numpy as np
import pytest

from lockstep import shuffle


def test_words():
    # Words of the generator, as asserted for the runtime.
    stream = shuffle.words(0, 0)
    assert [next(stream) for _ in range(4)] == [
        0x238275BC38FCBE91,
        0xF89A2566B5822C54,
        0x47200E1D9780FA44,
        0xE710DC7A64E2470A,
    ]


@pytest.mark.parametrize(
    "seed, epoch, expected",
    [
        (0, 0, [4, 7, 0, 5, 9, 3, 6, 2, 8, 1]),
        (0, 1, [7, 8, 4, 0, 9, 2, 6, 3, 5, 1]),
        (1, 0, [1, 9, 0, 7, 4, 2, 5, 3, 8, 6]),
        (2**64 - 1, 7, [1, 5, 6, 3, 4, 2, 7, 0, 11, 10, 9, 8]),
    ],
)
def test_order(seed, epoch, expected):
    # Small orders, as asserted for the runtime.
    assert shuffle.order(seed, epoch, len(expected)).tolist() == expected


def test_long_order():
    # More words than one block of the Python generator.
    order = shuffle.order(3, 2, 100_000)
    assert zlib.crc32(order.astype("<u8").tobytes()) == 0x5C607956
    assert np.array_equal(np.sort(order), np.arange(100_000))


def test_global_batches_drop_the_remainder():
    batches = list(shuffle.global_batches(0, 0, 10, 4))
    assert [b.tolist() for b in batches] == [[4, 7, 0, 5], [9, 3, 6, 2]]


@pytest.mark.parametrize("examples", [0, 1])
def test_nothing_to_shuffle(examples):
    assert shuffle.order(0, 0, examples).tolist() == list(range(examples))


def test_every_permutation_is_as_likely():
    # 6 permutations of 3 examples over 6000 epochs: within 5 standard
    # deviations.
    counts = {}
    for epoch in range(6000):
        key = tuple(shuffle.order(11, epoch, 3).tolist())
        counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 6
    assert max(abs(c - 1000) for c in counts.values()) < 5 * 29
