"""`--cases DIR`: the folder of the case files on which the reference is tested;
by default, those of the repository.
"""

from pathlib import Path

from case_files import CASES


def pytest_addoption(parser):
    parser.addoption(
        "--cases",
        type=Path,
        default=CASES,
        help="a folder of case files of the format tfdist-neutral-1",
    )


def pytest_generate_tests(metafunc):
    if "case_file" in metafunc.fixturenames:
        files = sorted(metafunc.config.getoption("--cases").glob("*.json"))
        metafunc.parametrize("case_file", files, ids=[f.stem for f in files])
