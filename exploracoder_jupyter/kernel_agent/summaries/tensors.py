"""PyTorch, TensorFlow and JAX: tensors, modules, data sets, loaders and optimizers.

In a fork of a process with running thread pools, attributes can be read and a CPU tensor can be viewed as a NumPy
array, but any operation of these libraries may hang. Values are therefore read only through NumPy, and no tensor is
moved.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays import element_facts, sample_elements
from exploracoder_jupyter.kernel_agent.summaries.facts import Fact, SummaryOptions, TypeFamily, format_list, format_size

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


def _describe_torch_dataset(dataset: Any, options: SummaryOptions) -> Iterator[Fact]:
    count = f"{len(dataset):,} items" if hasattr(type(dataset), "__len__") else "items not counted"
    yield Fact(f"{count}, not read")
    names = [name for name in vars(dataset) if not name.startswith("_")]
    if names:
        yield Fact(f"attributes: {format_list(names, options.columns)}")


def _describe_data_loader(loader: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"batches of {loader.batch_size}, {loader.num_workers} workers, not read")
    dataset = loader.dataset
    count = f" of {len(dataset):,} items" if hasattr(type(dataset), "__len__") else ""
    yield Fact(f"dataset {type(dataset).__name__}{count}, {type(loader.sampler).__name__}")


def _describe_optimizer(optimizer: Any, options: SummaryOptions) -> Iterator[Fact]:
    groups = optimizer.param_groups
    count = sum(parameter.numel() for group in groups for parameter in group["params"])
    yield Fact(f"groups: {len(groups)}, {count:,} parameters, {len(optimizer.state)} with state")
    for group in groups[:3]:
        settings = {name: value for name, value in group.items() if name != "params" and value not in (None, False)}
        shown = format_list([f"{name}={options.short(value)}" for name, value in settings.items()], 12)
        yield Fact(f"  {shown}", shows=True, schema=f"  set: {format_list(list(settings), 12)}")


def _describe_jax_array(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    if array.is_deleted():
        yield Fact(f"{_format_shape(array)}, {array.dtype}, deleted or donated")
        return
    devices = sorted(map(str, array.devices()))
    yield Fact(f"{_format_shape(array)}, {array.dtype}, on {format_list(devices, 4)}, {format_size(array.nbytes)}")
    if len(devices) > 1:
        yield Fact(f"sharding {type(array.sharding).__name__}")
    if not hasattr(array, "is_ready"):
        yield Fact("a key of random numbers")
    elif not array.is_ready():
        yield Fact("still being computed")
    elif len(devices) == 1 and next(iter(array.devices())).platform == "cpu":
        yield from _value_facts(sys.modules["numpy"].asarray(array), options)


def _describe_tracer(tracer: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{_format_shape(tracer.aval)}, {tracer.aval.dtype}, a tracer: it has no values")


def _describe_tensorflow_tensor(tensor: Any, options: SummaryOptions) -> Iterator[Fact]:
    device = str(getattr(tensor, "device", "") or "").rpartition("device:")[2]
    shape = _format_shape(tensor) if tensor.shape.rank is not None else "shape not known"
    trainable = "" if not hasattr(tensor, "trainable") else ", trainable" if tensor.trainable else ", not trainable"
    yield Fact(f"{shape}, {tensor.dtype.name}{f', on {device}' if device else ''}{trainable}")
    if hasattr(tensor, "numpy") and device.startswith("CPU") and tensor.dtype.is_numpy_compatible:
        yield from _value_facts(tensor.numpy(), options)


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


def _describe_tensorflow_dataset(dataset: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"elements {dataset.element_spec}, not read")


def _measure_version(tensor: Any) -> str:
    """Return the shape, and how often the tensor was changed in place."""
    return f"{_format_shape(tensor)}, version {tensor._version}"


FAMILY = TypeFamily(
    {
        "torch.Tensor": _describe_torch_tensor,
        "torch.Module": _describe_torch_module,
        "torch.Dataset": _describe_torch_dataset,
        "torch.DataLoader": _describe_data_loader,
        "torch.Optimizer": _describe_optimizer,
        "jaxlib.ArrayImpl": _describe_jax_array,
        "jax.jaxlib._jax.Array": _describe_jax_array,
        "jax.Array": _describe_jax_array,
        "jax.Tracer": _describe_tracer,
        "tensorflow.Tensor": _describe_tensorflow_tensor,
        "tensorflow.Variable": _describe_tensorflow_tensor,
        "tensorflow.DatasetV2": _describe_tensorflow_dataset,
        "keras.Layer": _describe_keras_layer,
    },
    measures={
        "torch.Tensor": _measure_version,
        "jaxlib.ArrayImpl": _format_shape,
        "tensorflow.Tensor": _format_shape,
        "tensorflow.Variable": _format_shape,
    },
)
