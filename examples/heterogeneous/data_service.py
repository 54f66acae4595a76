"""Augmented batches over gRPC: the hosts of the CPU group serve, the trainer receives.

Messages are bytes, so no code is generated from a schema.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import grpc

from examples.heterogeneous.images import Batch
from examples.heterogeneous.prefetch import prefetched

PORT = 50_051
CONNECT_S = 120.0
"""How long the trainer and the data hosts wait for each other."""
_METHOD = "Batches"
_SERVICE = "headway.examples.Augmentation"


class NoPeer(Exception):
    """The other side was not there in time."""


def serve(host: str, batches: Callable[[], Iterator[Batch]], *, timeout_s: float = CONNECT_S) -> None:
    """Serve batches until the trainer has hung up: a host that goes on would keep the job running.

    Args:
        host: The name of this host.
        batches: Returns the batches for one trainer.
        timeout_s: How long to wait for the trainer's call.

    Raises:
        NoPeer: The trainer did not call in time.
    """
    called, hung_up = Event(), Event()

    def answer(_request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        called.set()
        context.add_callback(hung_up.set)
        return map(Batch.to_bytes, batches())

    handlers = {_METHOD: grpc.unary_stream_rpc_method_handler(answer)}
    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(_SERVICE, handlers)])
    server.add_insecure_port(f"{host}:{PORT}")
    server.start()
    try:
        if not called.wait(timeout_s):
            raise NoPeer(f"No trainer has called {host} within {timeout_s:g} s.")
        hung_up.wait()
    finally:
        server.stop(grace=None)


def receive(hosts: Sequence[str], *, ahead: int, timeout_s: float = CONNECT_S) -> Generator[Batch, None, None]:
    """Return the batches of all data hosts as they arrive. To close the iterator hangs up.

    Args:
        hosts: The names of the data hosts.
        ahead: Batches that wait for the trainer at most.
        timeout_s: How long to wait for each host.

    Raises:
        NoPeer: A host was not there in time.
        SourceEnded: A host has ended before the trainer had enough.
    """
    channels = [grpc.insecure_channel(f"{host}:{PORT}") for host in hosts]
    try:
        for host, channel in zip(hosts, channels, strict=True):
            try:
                grpc.channel_ready_future(channel).result(timeout=timeout_s)
            except grpc.FutureTimeoutError as error:
                raise NoPeer(f"The data host {host} was not there within {timeout_s:g} s.") from error
        streams = [channel.unary_stream(f"/{_SERVICE}/{_METHOD}")(b"") for channel in channels]
        yield from prefetched([map(Batch.from_bytes, stream) for stream in streams], ahead=ahead)
    finally:
        for channel in channels:
            channel.close()
