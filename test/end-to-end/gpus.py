"""What tests of the device `cuda` share."""

#: One for GPUs, one for the processor.
TARGETS = "--target=sm_90,x86-64-v3"


def failure(gpu, example, artifact, tmp_path, *options, **variables):
    """The messages of a run that ends with an error."""
    done = gpu(
        artifact,
        *example.arguments(20, tmp_path / "metrics.jsonl"),
        *options,
        check=False,
        **variables,
    )
    assert done.returncode != 0
    return done.stderr
