"""Workers: their findings are distinguished from crashes of JAX itself, and
crashes leave no files.
"""

import tempfile

import pytest

from differential import campaign

LIKE_A_WORKER = """\
import os, sys, tempfile
folder = tempfile.mkdtemp()
for seed in map(int, sys.argv[2:-2]):
    if seed in {ends}:
        place = "backend_compile_and_load" if seed < 15 else "_run"
        print("Fatal Python error: Floating point exception", file=sys.stderr)
        print("File 'file.py', line 3 in", place, file=sys.stderr)
        os._exit(3)
    print(f"[{{seed}}, null]", flush=True)
os.rmdir(folder)
"""


@pytest.fixture
def workers(tmp_path, monkeypatch):
    """Replaces workers by processes that end at some programs."""

    def replace(ends):
        (tmp_path / "__main__.py").write_text(LIKE_A_WORKER.format(ends=ends))
        monkeypatch.setattr(campaign, "__file__", str(tmp_path / "campaign.py"))

    return replace


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_program_that_ends_jax_is_tried_again_and_passed_over(
    workers, tmp_path, monkeypatch, jobs
):
    workers({12, 15})
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    found = dict(
        campaign.side_by_side(
            range(10, 20), jobs, campaign.Settings("bin", "x86-64-v3")
        )
    )
    assert found.keys() == set(range(10, 20))
    failures = [failure for failure in found.values() if failure]
    assert sorted(failure.seed for failure in failures) == [12, 15]
    # Only a crash while XLA compiles is no failure of Lockstep.
    assert {failure.seed for failure in failures if failure.is_of_jax} == {12}
    message = "JAX ends with status 3: Fatal Python error: Floating point exception, File 'file.py', line 3 in backend_compile_and_load"
    assert message in [failure.outcome.message for failure in failures]
    assert campaign.summary(10, failures).count(" ended ") == 2
    assert not list(temporary.iterdir())
