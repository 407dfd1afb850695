"""Traces of runs on GPUs, as far as a stand-in for the driver shows them on any
machine (`test/support/cuda`).
"""

import itertools
import json
import re

import pytest

from gpus import TARGETS


# A trace has the times of the GPU: what a replica executes is in order, and the
# collectives of a GPU, or those by NCCL, are on a track of their own. For those
# through the host, replicas wait.
@pytest.mark.parametrize(
    "executors,transport", [(1, None), (2, "nccl"), (2, None)]
)
def test_trace(
    tools, gpu, losses, examples, compiled, tmp_path, executors, transport
):
    artifact = compiled("digits-mlp", "--replicas=2", "--bucket=none", TARGETS)
    example = examples("digits-mlp")
    options = ["--device=cuda", f"--executors={executors}"]
    if transport:
        options.append(f"--transport={transport}")
    gpus = {"LOCKSTEP_CUDA_DEVICES": str(executors)}
    file = tmp_path / "trace.json"
    traced = losses(
        gpu, artifact, example, 5, *options, f"--trace={file}", **gpus
    )
    assert traced == losses(gpu, artifact, example, 5, *options, **gpus)
    events = json.loads(file.read_text())["traceEvents"]
    names = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events
        if event["name"] == "thread_name"
    }
    tracks = {}
    for event in events:
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append(event)
    collectives = [track for track in tracks if names[track] == "collectives"]
    on_gpu = executors == 1 or transport
    assert len(collectives) == (executors if on_gpu else 0)
    for track, found in tracks.items():
        for before, after in itertools.pairwise(found):
            end = before["ts"] + before["dur"]
            assert after["ts"] >= end - 0.01, (before, after)
        kinds = {event["cat"] for event in found}
        assert kinds == (
            {"collective"} if track in collectives else {"kernel", "wait"}
        )
    shown = tools.run("lockstep-inspect", artifact, f"--compare={file}").stdout
    assert "the median of steps 0 to 4 on 2 tracks" in shown
    # All tracks have the same steps, and the times of collectives are known.
    if on_gpu:
        rows = re.findall(
            r"^  (?:kernel|transfer) .*? {2,}(\d[\d, ]*) {2,}\d", shown, re.M
        )
        assert {row.strip() for row in rows} == {"1"}, shown
        transfers = re.findall(
            r"^  transfer .* channel \d +1 +\S+ us +(\S+)", shown, re.M
        )
        assert len(transfers) == 5 and "-" not in transfers, shown
    else:
        assert re.search(r"^  communication +\S+ us +- ", shown, re.M), shown
