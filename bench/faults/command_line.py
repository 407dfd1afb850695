"""The common command line of the programs in this folder."""

import argparse
import pathlib


def parser_of(description):
    """A parser of the common arguments: the artifact, the folder of the tools,
    initial values and data.
    """
    parser = argparse.ArgumentParser(
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("artifact", type=pathlib.Path)
    parser.add_argument(
        "--bin",
        type=pathlib.Path,
        required=True,
        help="the folder of the built tools",
    )
    parser.add_argument(
        "--init", required=True, help="the initial values, .safetensors"
    )
    parser.add_argument("--data", required=True, help="the data, .npz")
    return parser
