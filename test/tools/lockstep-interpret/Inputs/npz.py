"""Writes an .npz without NumPy: `python npz.py OUT.npz
NAME=TYPE[SHAPE]:VALUE,... ...`.

For example `x@0=f32[2,1]:1,2`, `n=i32[]:3` and `empty=f32[0,2]:`.
"""

import struct
import sys
import zipfile

TYPES = {
    "f32": ("<f4", "f"),
    "f64": ("<f8", "d"),
    "i32": ("<i4", "i"),
    "i64": ("<i8", "q"),
    "i1": ("|b1", "?"),
}


def npy(text):
    type_name, rest = text.split("[", 1)
    shape_text, values_text = rest.split("]:", 1)
    descr, code = TYPES[type_name]
    shape = tuple(int(size) for size in shape_text.split(",") if size)
    convert = float if code in "fd" else int
    values = [convert(value) for value in values_text.split(",") if value]
    header = repr({"descr": descr, "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return (
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(header))
        + header.encode()
        + struct.pack(f"<{len(values)}{code}", *values)
    )


def main():
    with zipfile.ZipFile(sys.argv[1], "w") as archive:
        for assignment in sys.argv[2:]:
            name, array = assignment.split("=", 1)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), npy(array))


if __name__ == "__main__":
    main()
