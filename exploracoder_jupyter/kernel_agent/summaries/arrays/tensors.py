"""PyTorch, TensorFlow and JAX: tensors and modules.

In a fork of a process with running thread pools, attributes can be read and a CPU tensor can be viewed as a NumPy
array, but any operation of these libraries may hang. Values are therefore read only through NumPy, and no tensor is
moved.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays.array_elements import element_facts, sample_elements
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, TypeFamily, format_list, format_size
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

_MAX_CHILDREN = 8
_MAX_PARAMETERS = 5000


def _describe_torch_tensor(tensor: Any, options: SummaryOptions) -> Iterator[Fact]:
    device, layout = tensor.device, str(tensor.layout).removeprefix("torch.")
    memory = format_size(tensor.numel() * tensor.element_size())
    note = f", {layout}" if layout != "strided" else "" if tensor.is_contiguous() else ", not contiguous"
    yield Fact(f"{_format_shape(tensor)}, {str(tensor.dtype).removeprefix('torch.')}, on {device}, {memory}{note}")
    if tensor.requires_grad:
        origin = f"grad_fn {type(tensor.grad_fn).__name__}" if tensor.grad_fn is not None else "a leaf"
        gradient = "" if not tensor.is_leaf else ", grad held" if tensor.grad is not None else ", no grad yet"
        yield Fact(f"requires grad, {origin}{gradient}")
    if device.type != "cpu":
        yield Fact("no values here" if device.type == "meta" else "values not fetched from its device")
    elif layout == "strided" and not (tensor.is_quantized or tensor.is_complex()):
        torch, values = sys.modules["torch"], tensor.detach()
        if tensor.dtype is torch.bfloat16:  # NumPy lacks it, so its bits are the upper halves of 32-bit floats
            yield from _value_facts(values.view(torch.int16).numpy(), options, is_bfloat16=True)
        else:
            yield from _value_facts(values.numpy(), options)


def _value_facts(array: Any, options: SummaryOptions, *, is_bfloat16: bool = False) -> Iterator[Fact]:
    """Describe the values of an array, or of a flat sample of them if they must be converted for NumPy."""
    np = sys.modules["numpy"]
    if not array.size or options.out_of_time:
        return
    if is_bfloat16 or array.dtype.name.startswith(("bfloat16", "float8")):
        array = array if array.size <= options.sample else sample_elements(array, options.sample)
        bits = array.astype(np.uint16).astype(np.uint32) << 16 if is_bfloat16 else None
        array = array.astype(np.float32) if bits is None else bits.view(np.float32)
    if array.dtype.kind in "biuf":
        yield from element_facts(array, options)


def _format_shape(tensor: Any) -> str:
    sides = " x ".join(map(str, tensor.shape))
    return f"shape {sides}" if sides else "scalar"


def _describe_torch_module(module: Any, options: SummaryOptions) -> Iterator[Fact]:
    parameters = list(islice(module.parameters(), _MAX_PARAMETERS))
    initialized = [parameter for parameter in parameters if not type(parameter).__name__.startswith("Uninitialized")]
    count = sum(parameter.numel() for parameter in initialized)
    trainable = sum(parameter.numel() for parameter in initialized if parameter.requires_grad)
    more = "more than " if len(parameters) == _MAX_PARAMETERS else ""
    notes = f" on {', '.join(sorted({str(parameter.device) for parameter in initialized}))}" if initialized else ""
    if len(initialized) < len(parameters):
        notes += f", {len(parameters) - len(initialized)} tensors without a shape yet"
    mode = "training" if module.training else "evaluation"
    yield Fact(f"{more}{count:,} parameters ({trainable:,} trainable){notes}, {mode} mode")
    children = list(module.named_children())
    for name, child in children[:_MAX_CHILDREN]:  # no code of modules is called that are not torch's own
        settings = str(child.extra_repr())[:60] if type(child).__module__.startswith("torch.") else ""
        yield Fact(f"  {name}: {type(child).__name__}({settings})")
    if len(children) > _MAX_CHILDREN:
        yield Fact(f"  {len(children) - _MAX_CHILDREN:,} more")
    if len(initialized) == len(parameters):
        own = [f"{name} ({_format_shape(value)})" for name, value in module.named_parameters(recurse=False)]
        if own:
            yield Fact(f"parameters of its own: {format_list(own, _MAX_CHILDREN)}")


def _describe_other_tensor(tensor: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a tensor of JAX or TensorFlow. Its values are read only in this machine's memory, once computed."""
    dtype = str(getattr(tensor.dtype, "name", tensor.dtype))
    yield Fact(f"shape {tensor.shape}, {dtype}")
    device = str(getattr(tensor, "device", None) or "").rpartition("device:")[2]
    if device:  # a tracer has none
        yield Fact(f"on {device}")
    if hasattr(tensor, "is_ready") and not tensor.is_ready():
        yield Fact("still being computed")
    elif device.upper().startswith("CPU") and not dtype.startswith("key"):  # keys of random numbers
        yield from _value_facts(sys.modules["numpy"].asarray(tensor), options)


def _describe_keras_layer(model: Any, options: SummaryOptions) -> Iterator[Fact]:
    state = f"{model.count_params():,} parameters" if model.built else "not built"
    compiled_note = ", compiled" if getattr(model, "compiled", False) else ""
    yield Fact(f"{model.name!r}, {state}{compiled_note}")
    layers = getattr(model, "layers", [])
    for layer in layers[:_MAX_CHILDREN]:
        count = f": {layer.count_params():,} parameters" if layer.built else ""
        yield Fact(f"  {layer.name}: {type(layer).__name__}{count}")
    if len(layers) > _MAX_CHILDREN:
        yield Fact(f"  {len(layers) - _MAX_CHILDREN:,} more layers")


def _measure_version(tensor: Any) -> str:
    """Return the shape, and how often the tensor was changed in place."""
    return f"{_format_shape(tensor)}, version {tensor._version}"


_OTHER_TENSORS = (
    *("jaxlib.ArrayImpl", "jax.jaxlib._jax.Array", "jax.Array", "jax.Tracer"),
    *("tensorflow.Tensor", "tensorflow.Variable"),
)
FAMILY = TypeFamily(
    {
        "torch.Tensor": _describe_torch_tensor,
        "torch.Module": _describe_torch_module,
        **dict.fromkeys(_OTHER_TENSORS, _describe_other_tensor),
        "keras.Layer": _describe_keras_layer,
    },
    measures={
        "torch.Tensor": _measure_version,
        "jaxlib.ArrayImpl": _format_shape,
        "tensorflow.Tensor": _format_shape,
        "tensorflow.Variable": _format_shape,
    },
)
