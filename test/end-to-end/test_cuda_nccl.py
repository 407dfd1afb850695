"""Exchanges between GPUs by NCCL, on the stand-in: with the bits of one
executor, or by NCCL's own reductions; registered memory, and failures.
"""

import pytest

from gpus import TARGETS, count, failure, report


# Executors exchange between GPUs, and reduce with the bits of one executor.
@pytest.mark.daily(2)
@pytest.mark.parametrize("executors", [2, 3, 4])
@pytest.mark.parametrize("replicas", [4, 6])
def test_nccl(gpu, losses, examples, compiled, executors, replicas):
    artifact = compiled("digits-mlp", f"--replicas={replicas}", TARGETS)
    example = examples("digits-mlp")
    one = losses(gpu, artifact, example, 6, "--device=cuda")
    for seed in "1", "2":
        several = losses(
            gpu,
            artifact,
            example,
            6,
            "--device=cuda",
            "--transport=nccl",
            f"--executors={executors}",
            LOCKSTEP_CUDA_DEVICES=str(executors),
            LOCKSTEP_CUDA_SEED=seed,
        )
        assert one == several


# NCCL reduces in an order of its own, where each executor has one operand, or
# a power of two.
@pytest.mark.parametrize(
    "executors,replicas,shards,function",
    [
        (2, 2, "off", "ncclAllReduce"),
        (4, 4, "off", "ncclAllReduce"),
        (3, 6, "off", "ncclAllReduce"),
        (4, 4, "on", "ncclReduceScatter"),
        (2, 6, "off", None),
    ],
)
def test_nccl_reduces(
    gpu, losses, examples, compiled, tmp_path, executors, replicas, shards, function
):  # fmt: skip
    artifact = compiled(
        "digits-mlp",
        f"--replicas={replicas}",
        f"--shard-update={shards}",
        TARGETS,
    )
    example, calls = examples("digits-mlp"), tmp_path / "calls"
    run = [gpu, artifact, example, 6, "--device=cuda"]
    one = losses(*run)
    found = []
    for options in [], ["--no-recording"]:
        calls.unlink(missing_ok=True)
        several = losses(
            *run,
            "--transport=nccl:reduce",
            f"--executors={executors}",
            *options,
            LOCKSTEP_CUDA_DEVICES=str(executors),
            LOCKSTEP_CUDA_SEED=str(1 + len(found)),
            LOCKSTEP_CUDA_CALLS=str(calls),
        )
        found.append(several)
        if function:
            assert count(calls, function) >= executors
        else:
            assert several == one
            assert count(calls, "ncclAllReduce") == 0
    assert found[0] == found[1]
    assert found[0] == pytest.approx(one, rel=1e-5)


# NCCL knows the memory from and to which it transfers, if GPUs have memory that
# others can map. The stand-in refuses transfers of which one side is not
# registered, and that registered memory is freed.
@pytest.mark.parametrize("mapping", ["2", "0"])
def test_nccl_knows_the_memory(
    gpu, losses, examples, compiled, tmp_path, mapping
):
    artifact = compiled("digits-mlp", "--replicas=4", TARGETS)
    example = examples("digits-mlp")
    expected = losses(gpu, artifact, example, 4, "--device=cuda")
    found = losses(
        gpu,
        artifact,
        example,
        4,
        "--device=cuda",
        "--executors=2",
        "--transport=nccl",
        LOCKSTEP_CUDA_DEVICES="2",
        LOCKSTEP_CUDA_MAPPING=mapping,
        LOCKSTEP_CUDA_CALLS=str(tmp_path / "calls"),
    )
    assert found == expected
    registered = count(tmp_path / "calls", "ncclCommRegister")
    assert registered >= 2 if mapping == "2" else registered == 0
    assert count(tmp_path / "calls", "ncclCommDeregister") == registered
    assert (count(tmp_path / "calls", "cuMemMap") > 0) == (mapping == "2")


def test_errors_of_memory_for_nccl(gpu, examples, compiled, tmp_path):
    artifact = compiled("digits-mlp", "--replicas=4", TARGETS)
    options = ["--device=cuda", "--executors=2", "--transport=nccl"]

    def message(**variables):
        return failure(
            gpu,
            examples("digits-mlp"),
            artifact,
            tmp_path,
            *options,
            LOCKSTEP_CUDA_DEVICES="2",
            **variables,
        )

    assert (
        "transport 'nccl' between ranks 0, 1, 2, 3: expected memory that other GPUs can map on all GPUs or on none, found it only on that of executor 0"
        in message(LOCKSTEP_CUDA_MAPPING="1")
    )
    assert (
        "ncclCommRegister: unhandled system error (a registration fails, as asked for)"
        in message(LOCKSTEP_CUDA_FAIL="register:2")
    )
    # The first allocation fails at each of its three calls.
    assert "out of memory on GPU 0" in message(LOCKSTEP_CUDA_FAIL="map:1")
    for call in 2, 3:
        found = message(LOCKSTEP_CUDA_FAIL=f"map:{call}")
        assert "bytes on GPU 0 'Lockstep CUDA stand-in'" in found
        assert "CUDA_ERROR_NOT_SUPPORTED" in found


def test_errors_of_nccl(gpu, examples, compiled, tmp_path):
    example = examples("digits-mlp")
    artifact = compiled("digits-mlp", "--replicas=4", TARGETS)

    def message(*options, **variables):
        return failure(
            gpu,
            example,
            artifact,
            tmp_path,
            "--executors=2",
            "--transport=nccl",
            *options,
            **variables,
        )

    assert (
        "transport 'nccl' between ranks 0, 1, 2, 3: ncclCommInitRankConfig: invalid usage (ranks 0 and 1 are both on GPU 0)"
        in message("--device=cuda")
    )
    assert (
        "ncclGroupEnd: unhandled system error (a transfer fails, as asked for)"
        in message(
            "--device=cuda",
            LOCKSTEP_CUDA_DEVICES="2",
            LOCKSTEP_CUDA_FAIL="transfer:3",
        )
    )
    # While the second step is recorded.
    assert "ncclGroupEnd: unhandled system error" in message(
        "--device=cuda",
        LOCKSTEP_CUDA_DEVICES="2",
        LOCKSTEP_CUDA_FAIL="transfer:5",
    )
    # In the first step, and in one that has been recorded.
    for command in 40, 1000:
        assert (
            "CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure)"
            in message(
                "--device=cuda",
                LOCKSTEP_CUDA_DEVICES="2",
                LOCKSTEP_CUDA_FAIL=f"lost:{command}",
            )
        )
    assert (
        "expected a device with queues for transport 'nccl:threads', found 'cpu'"
        in message("--device=cpu")
    )


# A replica that does not come: the other GPU has not finished the collective,
# and stops waiting for it after the report.
def test_report_of_nccl(gpu, examples, compiled, tmp_path):
    found, printed = report(
        gpu,
        examples("digits-mlp"),
        compiled("digits-mlp", "--replicas=4", TARGETS),
        tmp_path,
        "--inject=pause:replica=3,channel=0",
    )
    [wait] = found["waits"]
    assert wait["kind"] == "all_reduce" and wait["location"] == "model.py:55"
    assert wait["arrived"] == [0, 1, 2] and wait["missing"] == [3]
    assert "replica 0: waiting for its device in command" in printed


# What NCCL notices after a collective has been enqueued ends the run: here, a
# link that is lost while a GPU waits for a replica that does not come.
def test_a_lost_link(gpu, examples, compiled, tmp_path):
    message = failure(
        gpu,
        examples("digits-mlp"),
        compiled("digits-mlp", "--replicas=4", TARGETS),
        tmp_path,
        "--device=cuda",
        "--executors=2",
        "--transport=nccl",
        "--inject=pause:replica=3,channel=0",
        LOCKSTEP_CUDA_DEVICES="2",
        LOCKSTEP_CUDA_FAIL="link:3",
    )
    assert (
        "transport 'nccl' between ranks 0, 1, 2, 3: a transfer that was enqueued: unhandled system error (a link is lost, as asked for)"
        in message
    )
