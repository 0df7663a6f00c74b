"""PyTorch, TensorFlow and JAX: tensors, modules, what feeds and trains them.

In a fork of a process whose thread pools are up, attributes can be read and a tensor of the CPU be seen as a NumPy
array, while every operation of these libraries may hang. So values are read through NumPy alone, and none is moved.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays import number_ranges
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, Family, Look, listed, size

_FEW = 12
_PARTS = 8
_MODULES = 5000


def _torch(tensor: Any, look: Look) -> Iterator[Fact]:
    kind, device = str(tensor.dtype).removeprefix("torch."), tensor.device
    memory = size(tensor.numel() * tensor.element_size())
    yield Fact(f"{_sides(tensor.shape)}, {kind}, on {device}, {memory}{_layout(tensor)}")
    if tensor.requires_grad:
        yield Fact(_gradient(tensor))
    if device.type != "cpu":
        yield Fact("no values here" if device.type == "meta" else "values not fetched from its device")
    elif str(tensor.layout) == "torch.strided" and not (tensor.is_quantized or tensor.is_complex()):
        yield from _statistics(_halves(tensor.detach()), look, halves=_is_half(tensor))


def _layout(tensor: Any) -> str:
    layout = str(tensor.layout).removeprefix("torch.")
    return f", {layout}" if layout != "strided" else "" if tensor.is_contiguous() else ", not contiguous"


def _gradient(tensor: Any) -> str:
    made = f"grad_fn {type(tensor.grad_fn).__name__}" if tensor.grad_fn is not None else "a leaf"
    held = "" if not tensor.is_leaf else ", grad held" if tensor.grad is not None else ", no grad yet"
    return f"requires grad, {made}{held}"


def _halves(tensor: Any) -> Any:
    """As a NumPy array that shares its memory: of bfloat16, which NumPy has not, of its bits."""
    torch = sys.modules["torch"]
    return (tensor.view(torch.int16) if _is_half(tensor) else tensor).numpy()


def _is_half(tensor: Any) -> bool:
    return tensor.dtype is sys.modules["torch"].bfloat16


def _statistics(array: Any, look: Look, *, halves: bool = False) -> Iterator[Fact]:
    """Values, or range, mean and spread. `halves`: the array holds bits, the upper halves of 32-bit floats."""
    if not array.size or look.late:
        return
    few = _sample(array, look.sample)
    first = _known(array.reshape(-1)[:_FEW] if array.flags.c_contiguous else array.flat[:_FEW], halves)
    values = _known(few, halves)
    if values is None:
        return
    if array.size <= _FEW:
        yield Fact(f"values {look.short(first.reshape(array.shape).tolist())}", shows=True)
        return
    part = f" (of {len(few):,} of its values)" if len(few) < array.size else ""
    numbers = number_ranges.floats(values)
    known = number_ranges.finite(numbers)
    mean = f", mean {known.mean():.4g}, std {known.std():.4g}" if len(known) else ""
    yield Fact(f"values {number_ranges.span(numbers)}{mean}{part}", shows=True)
    yield Fact(f"first {', '.join(map(number_ranges.number, first[:6].tolist()))}, ...", shows=True)


def _known(values: Any, halves: bool) -> Any:
    """The values in a type that NumPy calculates with; None if there is none."""
    np = sys.modules["numpy"]
    if halves:
        return (values.astype(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if values.dtype.name.startswith(("bfloat16", "float8")):
        return values.astype(np.float32)
    return values if values.dtype.kind in "biuf" else None


def _sample(array: Any, most: int) -> Any:
    if array.flags.c_contiguous:
        return number_ranges.thin(array.reshape(-1), most)
    return array.flat[:: max(1, -(-array.size // most))]


def _sides(shape: Any) -> str:
    sides = [str(side) for side in shape]
    return f"shape {' x '.join(sides)}" if sides else "scalar"


def _module(module: Any, look: Look) -> Iterator[Fact]:
    found = list(islice(module.parameters(), _MODULES))
    made = [one for one in found if not type(one).__name__.startswith("Uninitialized")]
    counted, trained = sum(one.numel() for one in made), sum(one.numel() for one in made if one.requires_grad)
    more = "more than " if len(found) == _MODULES else ""
    later = f", {len(found) - len(made)} tensors without a shape yet" if len(made) < len(found) else ""
    where = f" on {', '.join(sorted({str(one.device) for one in made}))}" if made else ""
    mode = "training" if module.training else "evaluation"
    yield Fact(f"{more}{counted:,} parameters ({trained:,} trainable){where}{later}, {mode} mode")
    children = list(module.named_children())
    for name, child in children[:_PARTS]:
        yield Fact(f"  {name}: {type(child).__name__}({_extra(child)})")
    if len(children) > _PARTS:
        yield Fact(f"  {len(children) - _PARTS:,} more")
    own = [f"{name} ({_sides(one.shape)})" for name, one in module.named_parameters(recurse=False) if not later]
    if own:
        yield Fact(f"parameters of its own: {listed(own, _PARTS)}")


def _extra(module: Any) -> str:
    """What torch's own modules say of themselves; of others nothing is asked."""
    return str(module.extra_repr())[:60] if type(module).__module__.startswith("torch.") else ""


def _dataset(dataset: Any, look: Look) -> Iterator[Fact]:
    count = f"{len(dataset):,} items" if hasattr(type(dataset), "__len__") else "items not counted"
    yield Fact(f"{count}, not read")
    names = [name for name in vars(dataset) if not name.startswith("_")]
    if names:
        yield Fact(f"attributes: {listed(names, look.columns)}")


def _loader(loader: Any, look: Look) -> Iterator[Fact]:
    yield Fact(f"batches of {loader.batch_size}, {loader.num_workers} workers, not read")
    dataset = loader.dataset
    count = f" of {len(dataset):,} items" if hasattr(type(dataset), "__len__") else ""
    yield Fact(f"dataset {type(dataset).__name__}{count}, {type(loader.sampler).__name__}")


def _optimizer(optimizer: Any, look: Look) -> Iterator[Fact]:
    groups = optimizer.param_groups
    count = sum(one.numel() for group in groups for one in group["params"])
    yield Fact(
        f"{len(groups)} group{'' if len(groups) == 1 else 's'}, {count:,} parameters, {len(optimizer.state)} with state"
    )
    for group in groups[:3]:
        given = {name: value for name, value in group.items() if name != "params" and value not in (None, False)}
        told = listed([f"{name}={look.short(value)}" for name, value in given.items()], _FEW)
        yield Fact(f"  {told}", shows=True, schema=f"  set: {listed(list(given), _FEW)}")


def _jax(array: Any, look: Look) -> Iterator[Fact]:
    if array.is_deleted():
        yield Fact(f"{_sides(array.shape)}, {array.dtype}, deleted or donated")
        return
    devices = sorted(map(str, array.devices()))
    yield Fact(f"{_sides(array.shape)}, {array.dtype}, on {listed(devices, 4)}, {size(array.nbytes)}")
    if len(devices) > 1:
        yield Fact(f"sharding {type(array.sharding).__name__}")
    if not hasattr(array, "is_ready"):
        yield Fact("a key of random numbers")
    elif not array.is_ready():
        yield Fact("still being computed")
    elif len(devices) == 1 and next(iter(array.devices())).platform == "cpu":
        yield from _statistics(sys.modules["numpy"].asarray(array), look)


def _tracer(tracer: Any, look: Look) -> Iterator[Fact]:
    yield Fact(f"{_sides(tracer.aval.shape)}, {tracer.aval.dtype}, a tracer: it has no values")


def _tensorflow(tensor: Any, look: Look) -> Iterator[Fact]:
    device = str(getattr(tensor, "device", "") or "").rpartition("device:")[2]
    shape = _sides(tensor.shape) if tensor.shape.rank is not None else "shape not known"
    trained = "" if not hasattr(tensor, "trainable") else ", trainable" if tensor.trainable else ", not trainable"
    yield Fact(f"{shape}, {tensor.dtype.name}{f', on {device}' if device else ''}{trained}")
    if hasattr(tensor, "numpy") and device.startswith("CPU") and tensor.dtype.is_numpy_compatible:
        yield from _statistics(tensor.numpy(), look)


def _keras(model: Any, look: Look) -> Iterator[Fact]:
    state = f"{model.count_params():,} parameters" if model.built else "not built"
    made = ", compiled" if getattr(model, "compiled", False) else ""
    yield Fact(f"{model.name!r}, {state}{made}")
    layers = getattr(model, "layers", [])
    for layer in layers[:_PARTS]:
        count = f": {layer.count_params():,} parameters" if layer.built else ""
        yield Fact(f"  {layer.name}: {type(layer).__name__}{count}")
    if len(layers) > _PARTS:
        yield Fact(f"  {len(layers) - _PARTS:,} more layers")


def _elements(dataset: Any, look: Look) -> Iterator[Fact]:
    yield Fact(f"elements {dataset.element_spec}, not read")


def _version(tensor: Any) -> str:
    """Shape, and how often it was changed in place."""
    return f"{_sides(tensor.shape)}, version {tensor._version}"


def _shape(tensor: Any) -> str:
    return _sides(tensor.shape)


FAMILY = Family(
    {
        "torch.Tensor": _torch,
        "torch.Module": _module,
        "torch.Dataset": _dataset,
        "torch.DataLoader": _loader,
        "torch.Optimizer": _optimizer,
        "jaxlib.ArrayImpl": _jax,
        "jax.jaxlib._jax.Array": _jax,
        "jax.Array": _jax,
        "jax.Tracer": _tracer,
        "tensorflow.Tensor": _tensorflow,
        "tensorflow.Variable": _tensorflow,
        "tensorflow.DatasetV2": _elements,
        "keras.Layer": _keras,
    },
    measures={
        "torch.Tensor": _version,
        "jaxlib.ArrayImpl": _shape,
        "tensorflow.Tensor": _shape,
        "tensorflow.Variable": _shape,
    },
)
