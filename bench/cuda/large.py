"""Models that occupy a GPU: their files, and the variables of the environment
that select their sizes."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python-bindings"))

_MLP = {"LAYERS": "-".join(["4096"] * 5), "BATCH": "512"}
#: GPT-2 small: layers, width, heads, vocabulary, batch, length
_GPT2 = {"SIZES": "12-768-12-50257-8-1024"}
_BF16 = {"FACTORS": "bfloat16"}
#: JAX's own attention by cuDNN, for the models with ours.
OF_JAX = {"ATTENTION": "cudnn"}
_RESNET = {"BATCH": "64", "SIZE": "224"}
LARGE = {
    "mlp": ("bench/jax/mlp.py", _MLP),
    "mlp-bf16": ("bench/jax/mlp.py", _MLP | _BF16),
    "transformer": ("bench/schedule/transformer.py", _GPT2),
    "transformer-bf16": ("bench/schedule/transformer.py", _GPT2 | _BF16),
    "transformer-attention": (
        "bench/schedule/transformer.py",
        _GPT2 | _BF16 | {"ATTENTION": "lockstep"},
    ),
    "resnet-bf16": ("bench/jax/resnet.py", _RESNET | _BF16),
}
#: How products are rounded: options of lockstep-compile, and the precision of
#: JAX.
PRECISIONS = {"f32": ([], "highest"), "tf32": (["--tf32"], "default")}
#: What computes products and convolutions: options of lockstep-compile.
COMPUTED_BY = {
    "generated": [],
    "libraries": [
        "--products=cublaslt",
        "--activations=libraries",
        "--convolutions=cudnn",
        "--attention=cudnn",
    ],
}


def precisions(name):
    """Those that differ for a model: not if its factors have 16 bits."""
    return ["f32"] if "FACTORS" in LARGE[name][1] else list(PRECISIONS)


def load(name, of_jax=False):
    """The `lockstep.model.Model`; imports JAX. With `of_jax`, the model that JAX
    executes: with its own attention, if this one's is Lockstep's."""
    from lockstep import model

    path, variables = LARGE[name]
    if of_jax and OF_JAX.keys() <= variables.keys():
        variables = variables | OF_JAX
    for _, others in LARGE.values():
        for variable in others:
            os.environ.pop(variable, None)
    os.environ.update(variables)
    return model.load(ROOT / path)
