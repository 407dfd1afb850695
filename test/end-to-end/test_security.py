"""Signed artifacts, beyond the commands of docs/security.md: error messages."""

import json
import shutil

import pytest

import targets

TRAILER = 104


@pytest.fixture
def run(tools, examples, tmp_path):
    """Runs a line of a shell in a folder with an example; returns (status, all
    that it printed).
    """
    for name in ("step.mlir", "init.safetensors", "train.npz"):
        shutil.copy(examples("digits-mlp").folder / name, tmp_path)
    return lambda command: tools.shell(command, tmp_path)


@pytest.fixture
def key(run, tmp_path):
    assert (
        run(
            "openssl genpkey -algorithm ed25519 -out key.pem && openssl pkey -in key.pem -pubout -out key.pub.pem"
        )[0]
        == 0
    )
    return tmp_path / "key.pem"


@pytest.mark.parametrize("options, expected", [
    ("--sign=none.pem", "--sign: 'none.pem': cannot open: No such file or directory"),
    ("--sign=key.pub.pem", "--sign: 'key.pub.pem': expected 'PRIVATE KEY', found 'PUBLIC KEY'"),
    ("--sign=key.pem --stop-after=memory", "--sign: expected an artifact to sign, found --stop-after=memory"),
])  # fmt: skip
def test_errors_of_compiling(run, key, tmp_path, options, expected):
    assert run(
        f"lockstep-compile step.mlir --replicas=2 -o out.lockstep {options}"
    ) == (1, f"lockstep-compile: error: {expected}")
    assert not (tmp_path / "out.lockstep").exists()


# A program that is wrong gets its own error, with or without a key.
def test_a_wrong_program_is_not_signed(run, key, tmp_path):
    (tmp_path / "wrong.mlir").write_text("module {}")
    status, printed = run(
        "lockstep-compile wrong.mlir --replicas=2 --sign=key.pem -o out.lockstep"
    )
    assert status == 1 and "expected a step or a program to compile" in printed
    assert not (tmp_path / "out.lockstep").exists()


def test_a_key_from_a_pipe(run, key):
    assert run(
        "lockstep-compile step.mlir --replicas=2 --sign=key.pem -o a.lockstep"
    ) == (0, "")
    assert run(
        "cat key.pem | lockstep-compile step.mlir --replicas=2 --sign=/dev/stdin -o b.lockstep"
    ) == (0, "")
    assert run("cmp a.lockstep b.lockstep") == (0, "")


@pytest.fixture
def signed(run, key, tmp_path):
    """A signed artifact; `unsigned.lockstep` is the same without its signature."""
    assert run(
        f"lockstep-compile step.mlir --replicas=2 --target={targets.BEST} --sign=key.pem -o signed.lockstep"
    ) == (0, "")
    path = tmp_path / "signed.lockstep"
    (tmp_path / "unsigned.lockstep").write_bytes(path.read_bytes()[:-TRAILER])
    return path


def test_errors_of_signing(run, signed, tmp_path):
    def error(arguments, status=1):
        found, printed = run(f"lockstep-sign {arguments}")
        assert found == status
        return printed.removeprefix("lockstep-sign: error: ")

    before = signed.read_bytes()
    assert error("signed.lockstep", 2) == "--key is required (see --help)"
    assert error("--key=key.pem", 2) == "artifact is required (see --help)"
    assert (
        error("signed.lockstep --key=none.pem")
        == "--key: 'none.pem': cannot open: No such file or directory"
    )
    assert (
        error("none.lockstep --key=key.pem")
        == "cannot open artifact 'none.lockstep': No such file or directory"
    )
    assert (
        error("signed.lockstep --key=key.pem -o none/x")
        == "'none/x': cannot create: No such file or directory"
    )
    (tmp_path / "damaged.lockstep").write_bytes(before[: -TRAILER - 1])
    assert "artifact 'damaged.lockstep': truncated: expected" in error(
        "damaged.lockstep --key=key.pem"
    )
    assert signed.read_bytes() == before


# In place, and replacing the signature of another key.
def test_signing_replaces(run, signed):
    before = signed.read_bytes()
    assert run(
        "openssl genpkey -algorithm ed25519 -out other.pem && lockstep-sign signed.lockstep --key=other.pem"
    ) == (0, "")
    other = signed.read_bytes()
    assert (
        len(other) == len(before)
        and other[:-TRAILER] == before[:-TRAILER]
        and other != before
    )
    assert run("lockstep-sign signed.lockstep --key=key.pem") == (0, "")
    assert signed.read_bytes() == before


def test_inspection(run, signed):
    def signer(name, *options):
        status, printed = run(
            f"lockstep-inspect {name} --format=json {' '.join(options)}"
        )
        assert status == 0, printed
        return json.loads(printed)["signer"]

    fingerprint = run(
        "openssl pkey -pubin -in key.pub.pem -outform DER | sha256sum"
    )[1].split()[0]
    assert (
        signer("signed.lockstep")
        == signer("signed.lockstep", "--trust=key.pub.pem")
        == fingerprint
    )
    assert signer("unsigned.lockstep") is None
    assert (
        f"signed by key {fingerprint}"
        not in run("lockstep-inspect unsigned.lockstep")[1]
    )
    # Untrusted artifacts can be inspected.
    assert run(
        "LOCKSTEP_TRUST=key.pub.pem lockstep-inspect unsigned.lockstep -o /dev/null"
    ) == (0, "")
    error = "lockstep-inspect: error: artifact 'unsigned.lockstep': not signed: expected a signature by a trusted key, found none"
    assert run("lockstep-inspect unsigned.lockstep --trust=key.pub.pem") == (
        1,
        error,
    )
    error = "lockstep-inspect: error: --trust: 'none.pem': cannot open: No such file or directory"
    assert run("lockstep-inspect unsigned.lockstep --trust=none.pem") == (
        1,
        error,
    )


# Every configuration: one executor, several executors.
@pytest.mark.parametrize("options", ["", "--executors=2"])
def test_running(run, signed, options):
    usual = f"--init=init.safetensors --data=train.npz --steps=1 {options}"
    for command in (f"lockstep-run signed.lockstep {usual}", f"lockstep-run unsigned.lockstep {usual}",
                    f"lockstep-run signed.lockstep --trust=key.pub.pem {usual}",
                    f"LOCKSTEP_TRUST=none.pem lockstep-run signed.lockstep --trust=key.pub.pem {usual}"):  # fmt: skip
        status, printed = run(command)
        assert status == 0, printed
    status, printed = run(
        f"LOCKSTEP_TRUST=key.pub.pem lockstep-run unsigned.lockstep {usual}"
    )
    assert (
        status == 1
        and "not signed: expected a signature by a trusted key, found none"
        in printed
    )


# The text has the whole artifact except its signature.
def test_translation(run, signed):
    assert run(
        "lockstep-translate --import-artifact signed.lockstep -o text.mlir"
    ) == (0, "")
    assert run(
        "lockstep-translate --emit-artifact text.mlir -o again.lockstep && cmp again.lockstep unsigned.lockstep"
    ) == (0, "")


# Nothing is compiled for a run that would reject it.
def test_programs_as_text(run, key, tmp_path):
    error = "lockstep-run: error: expected a signed artifact for --trust, found 'step.mlir', whose artifact nobody has signed"
    assert run(
        "lockstep-run step.mlir --replicas=2 --trust=key.pub.pem --steps=1"
    ) == (1, error)
    assert not (tmp_path / "cache").exists()
