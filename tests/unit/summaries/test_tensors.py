"""Tensors of large optional libraries, described in a fork whose parent's thread pools are running."""

import pytest

from tests.unit.summaries.described import measure, schema, summarize, text

pytestmark = pytest.mark.filterwarnings("ignore")


def summarize_in_fork(value):
    """The summary as it is made for a cell: in a forked child."""
    summary = summarize(value)
    assert "takes too long" not in summary.text and "raises" not in summary.text
    return summary


class TestTorch:
    @pytest.fixture(scope="class")
    def torch(self):
        torch = pytest.importorskip("torch")
        wide = torch.ones(600, 600)
        (wide @ wide).mul(2).sum()
        torch.rand(2_000_000).mul(2).sum()
        return torch

    def test_a_large_tensor_is_described_by_a_sample(self, torch):
        tensor = torch.arange(4_000_000).float().reshape(2000, 2000)
        summary = text(tensor)
        assert summary.startswith("shape 2000 x 2000, float32, on cpu, 16.0 MB\nvalues: 0 to ")
        assert "sampled 20,000 of 4,000,000" in summary and "begins: [[0, 1, 2, 3, 4, 5, 6, 7, ...]" in summary
        assert schema(tensor) == "shape 2000 x 2000, float32, on cpu, 16.0 MB"
        assert "sampled 20,000 of 4,000,000" in summarize_in_fork(tensor).text
        assert "sampled 20,000 of 4,000,000" in summarize_in_fork(tensor.T).text

    def test_gradients_are_described_and_none_is_made(self, torch):
        leaf = torch.ones(3, requires_grad=True)
        made = (leaf * 2).sum()
        assert "requires grad, a leaf, no grad yet" in text(leaf)
        assert "requires grad, grad_fn SumBackward0" in text(made)
        made.backward()
        assert "requires grad, a leaf, grad held" in text(leaf)

    @pytest.mark.parametrize(
        ("make", "expected"),
        [
            (lambda t: t.tensor(7), "scalar, int64, on cpu, 8 bytes\nvalue 7"),
            (lambda t: t.tensor([True, False]), "all: [True, False]"),
            (lambda t: t.tensor([1.5, 2.5], dtype=t.bfloat16), "shape 2, bfloat16, on cpu, 4 bytes\nall: [1.5, 2.5]"),
            (lambda t: t.arange(100.0).bfloat16(), "values: 0 to 99"),
            (lambda t: t.arange(100.0).half(), "values: 0 to 99, mean 49.5, std 28.8661"),
            (lambda t: t.tensor([1.0, float("nan")] * 50), "values: 50 NaN (50 %), all 1"),
            (lambda t: t.empty(0), "shape 0, float32, on cpu, 0 bytes"),
            (lambda t: t.ones(3, device="meta"), "on meta, 12 bytes\nno values here"),
            (lambda t: t.eye(3).to_sparse(), "sparse_coo"),
            (lambda t: t.ones(3, dtype=t.cfloat), "complex64"),
            (lambda t: t.ones(2, 3).T, "not contiguous\nall: [[1, 1], "),
            (lambda t: t.nn.Parameter(t.ones(2)), "all: [1, 1]"),
        ],
    )
    def test_kinds_of_tensors(self, torch, make, expected):
        assert expected in text(make(torch))
        summarize_in_fork(make(torch))

    def test_the_measure_changes_with_a_change_in_place(self, torch):
        tensor = torch.zeros(3)
        before = measure(tensor)
        text(tensor)
        assert measure(tensor) == before
        tensor.add_(1)
        assert measure(tensor) != before

    def test_modules_data_and_optimizers(self, torch):
        module = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU()).eval()
        assert text(module).splitlines() == [
            "25 parameters (25 trainable) on cpu, evaluation mode",
            "  0: Linear(in_features=4, out_features=5, bias=True)",
            "  1: ReLU()",
        ]
        assert "2 tensors without a shape yet" in text(torch.nn.LazyLinear(3))
        data = torch.utils.data.TensorDataset(torch.ones(8, 2))
        assert text(data).startswith("8 items, not read")
        assert text(torch.utils.data.DataLoader(data, batch_size=4)).startswith("batches of 4, 0 workers, not read")
        optimizer = torch.optim.SGD(module.parameters(), lr=0.125)
        assert "lr=0.125" in text(optimizer) and "0.125" not in schema(optimizer) and "lr" in schema(optimizer)

    def test_an_endless_dataset_is_not_read(self, torch):
        class Endless(torch.utils.data.IterableDataset):
            def __iter__(self):
                raise AssertionError

        assert text(Endless()).startswith("items not counted, not read")


class TestJax:
    @pytest.fixture(scope="class")
    def jnp(self):
        jnp = pytest.importorskip("jax.numpy")
        wide = jnp.ones((600, 600))
        (wide @ wide).block_until_ready()
        return jnp

    def test_an_array_is_described_by_a_sample(self, jnp):
        array = jnp.arange(4_000_000.0).block_until_ready()
        assert summarize_in_fork(array).text.count("sampled 20,000 of 4,000,000") == 1
        assert schema(array) == "shape 4000000, float32, on cpu:0, 16.0 MB"

    def test_a_computing_array_is_not_waited_for(self, jnp):
        wide = lazy = jnp.ones((2000, 2000))
        for _ in range(20):
            lazy = lazy @ wide / 2000
        assert "still being computed" in summarize_in_fork(lazy).text
        lazy.block_until_ready()
        assert "values: all 1" in summarize_in_fork(lazy).text

    def test_tracers_keys_halves_and_deleted_arrays(self, jnp):
        import jax

        summaries = []
        jax.jit(lambda x: (summaries.append(text(x)), x)[1])(jnp.ones(3))
        assert summaries == ["shape 3, float32, a tracer: it has no values"]
        assert "a key of random numbers" in text(jax.random.key(0))
        assert "all: [1, 1]" in text(jnp.ones(2, dtype=jnp.bfloat16).block_until_ready())
        gone = jnp.ones(3)
        gone.delete()
        assert text(gone) == "shape 3, float32, deleted or donated"


class TestTensorflow:
    @pytest.fixture(scope="class")
    def tf(self):
        tf = pytest.importorskip("tensorflow")
        wide = tf.ones((600, 600))
        assert (wide @ wide).shape == (600, 600)
        return tf

    def test_tensors_and_variables(self, tf):
        tensor = tf.reshape(tf.range(4_000_000), (2000, 2000))
        assert "sampled 20,000 of 4,000,000" in summarize_in_fork(tensor).text
        assert schema(tensor) == "shape 2000 x 2000, int32, on CPU:0"
        assert "trainable" in summarize_in_fork(tf.Variable([1.0])).text
        assert text(tf.constant(["a"])) == "shape 1, string, on CPU:0"

    def test_models_are_not_run_nor_datasets_read(self, tf):
        model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(3)])
        assert "15 parameters" in summarize_in_fork(model).text and "Dense: 15 parameters" in text(model)
        assert "not built" in text(tf.keras.Sequential())
        assert "not read" in summarize_in_fork(tf.data.Dataset.range(3)).text
