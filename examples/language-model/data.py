"""Prepares text for the language model: `python data.py -o DIR`.

The text is the licences that Debian keeps in /usr/share/common-licenses (or the
files given by `--text`). It is cut into rows of 64 characters, nine tenths of
the rows in `DIR/train.npz`, the others in `DIR/test.npz`: `x`, i32 [n, 64], and
`y`, the same characters one position on.
"""

import argparse
import glob
import os

import numpy as np

LENGTH = 64
LICENCES = "/usr/share/common-licenses"


def read(paths):
    """Reads files as one array of ASCII codes; other bytes become `?`."""
    text = b"\n".join(open(path, "rb").read() for path in paths)
    codes = np.frombuffer(text, np.uint8).astype(np.int32)
    return np.where(codes < 128, codes, ord("?")).astype(np.int32)


def split(codes):
    """Returns ((x, y) to train on, (x, y) to test with)."""
    rows = (len(codes) - 1) // LENGTH
    x = codes[: rows * LENGTH].reshape(rows, LENGTH)
    y = codes[1 : rows * LENGTH + 1].reshape(rows, LENGTH)
    held_out = np.arange(rows) % 10 == 9
    return (x[~held_out], y[~held_out]), (x[held_out], y[held_out])


def entropy(codes):
    """Entropy of single characters, in nats."""
    share = np.bincount(codes) / len(codes)
    share = share[share > 0]
    return float(-np.sum(share * np.log(share)))


def licences():
    """Lists the licence files, each once: without links to them."""
    paths = sorted(glob.glob(os.path.join(LICENCES, "*")))
    return [path for path in paths if not os.path.islink(path)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", dest="folder", metavar="DIR", default=".")
    parser.add_argument("--text", nargs="+", metavar="FILE", help="text to take")
    options = parser.parse_args()
    paths = options.text or licences()
    if not paths:
        parser.error(f"expected licence texts in '{LICENCES}', found none (give others by --text)")
    codes = read(paths)
    os.makedirs(options.folder, exist_ok=True)
    for name, (x, y) in zip(("train", "test"), split(codes), strict=True):
        np.savez(os.path.join(options.folder, f"{name}.npz"), x=x, y=y)
    print(f"{len(codes)} characters, entropy {entropy(codes):.3f} nats")


if __name__ == "__main__":
    main()
