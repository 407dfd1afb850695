"""NVIDIA's libraries in Python packages."""

import os
import pathlib
import site

#: Folders of the packages for CUDA 12 and 13.
LIBRARIES = [
    "nvidia/nccl/lib",
    "nvidia/cublas/lib",
    "nvidia/cudnn/lib",
    "nvidia/cuda_nvrtc/lib",
    "nvidia/cu13/lib",
]


def library_path(own):
    """A search path: that of the environment, the folder `own`, and those of
    packages, so that a machine's own libraries come first."""
    folders = [
        str(path)
        for folder in site.getsitepackages()
        for library in LIBRARIES
        for path in pathlib.Path(folder).glob(library)
    ]
    old = os.environ.get("LD_LIBRARY_PATH", "")
    return ":".join(filter(None, [old, str(own), *folders]))
