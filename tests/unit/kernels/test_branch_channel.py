"""The line between the engine and a branch: messages, descriptors, and who really sent them."""

import os
import sys

import pytest

from exploracoder_jupyter.kernel_agent.forking import process_fork
from exploracoder_jupyter.kernels.processes.forked_process import BranchChannel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are Linux's")


async def test_a_message_has_descriptors_and_true_sender():
    ours, theirs = BranchChannel.pair()
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        process_fork.send(theirs, {"pid": 1}, [writes])
        os._exit(0)
    os.waitpid(child, 0)
    message = await ours.receive()
    assert (message.content, message.pid) == ({"pid": 1}, child)
    os.write(message.descriptors[0], b"through")
    assert os.read(reads, 10) == b"through"
    for descriptor in (reads, writes, *message.descriptors):
        os.close(descriptor)
    ours.close()
    theirs.close()


async def test_orders_return_without_inherited_descriptors():
    ours, theirs = BranchChannel.pair()
    ours.send({"ask": "fork"}, [0])
    message, [descriptor] = process_fork.receive(theirs)
    assert message == {"ask": "fork"}
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)
    ours.close()
    with pytest.raises(EOFError):
        process_fork.receive(theirs)
    process_fork.send_if_open(theirs, {"to": "nobody"})
    theirs.close()


@pytest.mark.parametrize("sent", [b"not json", b"[1]", b""])
async def test_what_is_no_message_is_the_end(sent):
    ours, theirs = BranchChannel.pair()
    theirs.send(sent) if sent else theirs.close()
    with pytest.raises(EOFError):
        await ours.receive()
    ours.close()
    theirs.close()
