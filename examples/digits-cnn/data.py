"""Prepares scikit-learn's handwritten digits: `python data.py -o DIR`.

Writes `DIR/train.npz` (1,437 images) and `DIR/test.npz` (360) with `x`, f32
[n, 8, 8, 1] in [0, 1], and `y`, i32 [n].
"""

import argparse
import os

import numpy as np
from sklearn.datasets import load_digits


def split(shape=(8, 8, 1)):
    """Returns ((x, y) to train on, (x, y) to test with), 80 % and 20 %."""
    digits = load_digits()
    x = (digits.data / 16).astype(np.float32).reshape(-1, *shape)
    y = digits.target.astype(np.int32)
    order = np.random.default_rng(0).permutation(len(x))
    train, test = np.split(order, [len(x) * 8 // 10])
    return (x[train], y[train]), (x[test], y[test])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", dest="folder", metavar="DIR", default=".")
    folder = parser.parse_args().folder
    os.makedirs(folder, exist_ok=True)
    for name, (x, y) in zip(("train", "test"), split(), strict=True):
        np.savez(os.path.join(folder, f"{name}.npz"), x=x, y=y)


if __name__ == "__main__":
    main()
