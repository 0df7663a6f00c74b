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

from exploracoder_jupyter.kernel_agent.summaries.arrays import number_ranges
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, TypeFamily, format_list, format_size
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

_MAX_VALUES = 12
_MAX_CHILDREN = 8
_MAX_PARAMETERS = 5000


def _describe_torch_tensor(tensor: Any, options: SummaryOptions) -> Iterator[Fact]:
    kind, device = str(tensor.dtype).removeprefix("torch."), tensor.device
    memory = format_size(tensor.numel() * tensor.element_size())
    yield Fact(f"{_format_shape(tensor.shape)}, {kind}, on {device}, {memory}{_format_layout(tensor)}")
    if tensor.requires_grad:
        yield Fact(_format_gradient(tensor))
    if device.type != "cpu":
        yield Fact("no values here" if device.type == "meta" else "values not fetched from its device")
    elif str(tensor.layout) == "torch.strided" and not (tensor.is_quantized or tensor.is_complex()):
        yield from _value_facts(_to_numpy(tensor.detach()), options, is_bfloat16=_is_bfloat16(tensor))


def _format_layout(tensor: Any) -> str:
    layout = str(tensor.layout).removeprefix("torch.")
    return f", {layout}" if layout != "strided" else "" if tensor.is_contiguous() else ", not contiguous"


def _format_gradient(tensor: Any) -> str:
    origin = f"grad_fn {type(tensor.grad_fn).__name__}" if tensor.grad_fn is not None else "a leaf"
    gradient = "" if not tensor.is_leaf else ", grad held" if tensor.grad is not None else ", no grad yet"
    return f"requires grad, {origin}{gradient}"


def _to_numpy(tensor: Any) -> Any:
    """View the tensor as a NumPy array that shares its memory; bfloat16, which NumPy lacks, as its bits."""
    torch = sys.modules["torch"]
    return (tensor.view(torch.int16) if _is_bfloat16(tensor) else tensor).numpy()


def _is_bfloat16(tensor: Any) -> bool:
    return tensor.dtype is sys.modules["torch"].bfloat16


def _value_facts(array: Any, options: SummaryOptions, *, is_bfloat16: bool = False) -> Iterator[Fact]:
    """Show the values, or their range, mean and standard deviation.

    `is_bfloat16`: the array holds bits, the upper halves of 32-bit floats.
    """
    if not array.size or options.out_of_time:
        return
    sampled_values = _sample_values(array, options.sample)
    first = _convert_values(
        array.reshape(-1)[:_MAX_VALUES] if array.flags.c_contiguous else array.flat[:_MAX_VALUES], is_bfloat16
    )
    values = _convert_values(sampled_values, is_bfloat16)
    if values is None:
        return
    if array.size <= _MAX_VALUES:
        yield Fact(f"values {options.short(first.reshape(array.shape).tolist())}", shows=True)
        return
    sample_note = f" (of {len(sampled_values):,} of its values)" if len(sampled_values) < array.size else ""
    numbers = number_ranges.to_floats(values)
    finite_values = number_ranges.finite(numbers)
    mean = f", mean {finite_values.mean():.4g}, std {finite_values.std():.4g}" if len(finite_values) else ""
    yield Fact(f"values {number_ranges.describe_range(numbers)}{mean}{sample_note}", shows=True)
    yield Fact(f"first {', '.join(map(number_ranges.format_number, first[:6].tolist()))}, ...", shows=True)


def _convert_values(values: Any, is_bfloat16: bool) -> Any:
    """Convert the values to a type that NumPy can calculate with; None if there is none."""
    np = sys.modules["numpy"]
    if is_bfloat16:
        return (values.astype(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if values.dtype.name.startswith(("bfloat16", "float8")):
        return values.astype(np.float32)
    return values if values.dtype.kind in "biuf" else None


def _sample_values(array: Any, limit: int) -> Any:
    if array.flags.c_contiguous:
        return number_ranges.thin(array.reshape(-1), limit)
    return array.flat[:: max(1, -(-array.size // limit))]


def _format_shape(shape: Any) -> str:
    sides = [str(side) for side in shape]
    return f"shape {' x '.join(sides)}" if sides else "scalar"


def _describe_torch_module(module: Any, options: SummaryOptions) -> Iterator[Fact]:
    parameters = list(islice(module.parameters(), _MAX_PARAMETERS))
    initialized = [parameter for parameter in parameters if not type(parameter).__name__.startswith("Uninitialized")]
    count, trainable = (
        sum(parameter.numel() for parameter in initialized),
        sum(parameter.numel() for parameter in initialized if parameter.requires_grad),
    )
    more = "more than " if len(parameters) == _MAX_PARAMETERS else ""
    uninitialized_note = (
        f", {len(parameters) - len(initialized)} tensors without a shape yet"
        if len(initialized) < len(parameters)
        else ""
    )
    devices_note = (
        f" on {', '.join(sorted({str(parameter.device) for parameter in initialized}))}" if initialized else ""
    )
    mode = "training" if module.training else "evaluation"
    yield Fact(f"{more}{count:,} parameters ({trainable:,} trainable){devices_note}{uninitialized_note}, {mode} mode")
    children = list(module.named_children())
    for name, child in children[:_MAX_CHILDREN]:
        yield Fact(f"  {name}: {type(child).__name__}({_format_module_options(child)})")
    if len(children) > _MAX_CHILDREN:
        yield Fact(f"  {len(children) - _MAX_CHILDREN:,} more")
    own_parameters = [
        f"{name} ({_format_shape(parameter.shape)})"
        for name, parameter in module.named_parameters(recurse=False)
        if not uninitialized_note
    ]
    if own_parameters:
        yield Fact(f"parameters of its own: {format_list(own_parameters, _MAX_CHILDREN)}")


def _format_module_options(module: Any) -> str:
    """Return the `extra_repr` of torch's own modules; no code of other modules is called."""
    return str(module.extra_repr())[:60] if type(module).__module__.startswith("torch.") else ""


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
    yield Fact(
        f"{len(groups)} group{'' if len(groups) == 1 else 's'}, {count:,} parameters, {len(optimizer.state)} with state"
    )
    for group in groups[:3]:
        settings = {name: value for name, value in group.items() if name != "params" and value not in (None, False)}
        settings_text = format_list([f"{name}={options.short(value)}" for name, value in settings.items()], _MAX_VALUES)
        yield Fact(f"  {settings_text}", shows=True, schema=f"  set: {format_list(list(settings), _MAX_VALUES)}")


def _describe_jax_array(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    if array.is_deleted():
        yield Fact(f"{_format_shape(array.shape)}, {array.dtype}, deleted or donated")
        return
    devices = sorted(map(str, array.devices()))
    yield Fact(
        f"{_format_shape(array.shape)}, {array.dtype}, on {format_list(devices, 4)}, {format_size(array.nbytes)}"
    )
    if len(devices) > 1:
        yield Fact(f"sharding {type(array.sharding).__name__}")
    if not hasattr(array, "is_ready"):
        yield Fact("a key of random numbers")
    elif not array.is_ready():
        yield Fact("still being computed")
    elif len(devices) == 1 and next(iter(array.devices())).platform == "cpu":
        yield from _value_facts(sys.modules["numpy"].asarray(array), options)


def _describe_tracer(tracer: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{_format_shape(tracer.aval.shape)}, {tracer.aval.dtype}, a tracer: it has no values")


def _describe_tensorflow_tensor(tensor: Any, options: SummaryOptions) -> Iterator[Fact]:
    device = str(getattr(tensor, "device", "") or "").rpartition("device:")[2]
    shape = _format_shape(tensor.shape) if tensor.shape.rank is not None else "shape not known"
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
    return f"{_format_shape(tensor.shape)}, version {tensor._version}"


def _measure_shape(tensor: Any) -> str:
    return _format_shape(tensor.shape)


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
        "jaxlib.ArrayImpl": _measure_shape,
        "tensorflow.Tensor": _measure_shape,
        "tensorflow.Variable": _measure_shape,
    },
)
