"""Trying in a branch whether experiments can import a library."""

from exploracoder_jupyter.core.types import ErrorInfo, Observation
from exploracoder_jupyter.runs.exploration_run import check_imports


class Root:
    """A state whose branches import everything but `broken`."""

    def __init__(self) -> None:
        self.open = 0

    async def fork(self, n):
        self.open += n
        return [self] * n

    async def run(self, code, *, timeout):
        failed = "broken" in code
        error = ErrorInfo("ImportError", "no libbroken.so", "") if failed else None
        return Observation("error" if failed else "ok", error=error)

    async def close(self):
        self.open -= 1


async def test_each_library_is_tried_and_branches_closed():
    """Issue 14, item 19: a notice says which libraries experiments can import."""
    root = Root()
    fine, broken = await check_imports(root, ["acmekit", "broken"], timeout=5)
    assert "can import 'acmekit'" in fine.text
    assert "cannot import 'broken'" in broken.text and "no libbroken.so" in broken.text
    assert root.open == 0 and await check_imports(root, [], timeout=5) == []
