"""Artifacts that are broken on purpose, or that another compiler might have
written.
"""

import hashlib
import struct

#: Fields of the root table, by their ids in the schema.
FORMAT_VERSION, DIGEST = 0, 1
DIGEST_BYTES = 32


def root_field(data, number):
    """Offset of a field of the root table of a FlatBuffer."""
    root = struct.unpack_from("<I", data, 0)[0]
    table = root - struct.unpack_from("<i", data, root)[0]
    return root + struct.unpack_from("<H", data, table + 4 + 2 * number)[0]


def sealed(data):
    """`data` with the digest that it should have: of all bytes but its own."""
    start = root_field(data, DIGEST)
    rest = data[:start] + data[start + DIGEST_BYTES :]
    return (
        data[:start]
        + hashlib.sha256(rest).digest()
        + data[start + DIGEST_BYTES :]
    )


def with_format_version(data, version):
    start = root_field(data, FORMAT_VERSION)
    return sealed(data[:start] + struct.pack("<I", version) + data[start + 4 :])


def with_targets(data, names):
    """The kernels are said to be for other targets: old name -> new name of the
    same length.
    """
    for old, new in names.items():
        assert len(old) == len(new) and old.encode() in data
        data = data.replace(old.encode(), new.encode())
    return sealed(data)
