"""The input channels of a training job: which objects are placed where.

Source: API reference, Channel and S3DataSource. The input modes File and FastFile both copy all objects before the
script starts, so a script reads the same files; with FastFile on SageMaker each is read from S3 when it is opened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headway_sandbox.training.errors import RequestFault
from headway_sandbox.training.platform import s3_objects
from headway_sandbox.training.platform.hosts import Host
from headway_sandbox.training.platform.s3_objects import Location, Objects

_MODES = ("File", "FastFile")


def input_mode(request: Mapping[str, Any], channel: Mapping[str, Any]) -> str:
    """Return the input mode of a channel.

    Args:
        request: The CreateTrainingJob request.
        channel: One of its channels.
    """
    mode = channel.get("InputMode") or request["AlgorithmSpecification"].get("TrainingInputMode")
    return str(mode or "File")


def check(request: Mapping[str, Any]) -> None:
    """Check that the sandbox has what the channels of a request need.

    Raises:
        RequestFault: A channel needs something else; the message says what to change.
    """
    for channel in request.get("InputDataConfig") or []:
        name, source = channel["ChannelName"], channel["DataSource"].get("S3DataSource")
        if source is None:
            raise RequestFault(f"Channel {name} is on a file system, which the sandbox does not have. Use S3.")
        if source["S3DataType"] != "S3Prefix":
            raise RequestFault(f"Channel {name}: the sandbox has no {source['S3DataType']}. Use S3Prefix.")
        if input_mode(request, channel) not in _MODES:
            raise RequestFault(f"Channel {name}: the sandbox has the input modes {' and '.join(_MODES)}, not Pipe.")
        if channel.get("CompressionType", "None") != "None":
            raise RequestFault(f"Channel {name}: CompressionType has an effect in Pipe mode only. Leave it out.")


def download(request: Mapping[str, Any], hosts: Sequence[Host], objects: Objects, *, disk_bytes: int) -> None:
    """Place the objects of all channels in `input/data/CHANNEL` of each host.

    Args:
        request: The CreateTrainingJob request.
        hosts: The job's hosts.
        disk_bytes: Disk space of a host.

    Raises:
        RequestFault: A prefix has no objects, the input of a host exceeds its disk space, or the sandbox lacks what a
            channel needs.
        StorageFault: S3 refused a call.
    """
    check(request)
    left = dict.fromkeys((host.number for host in hosts), disk_bytes)
    for channel in request.get("InputDataConfig") or []:
        source = channel["DataSource"]["S3DataSource"]
        groups = source.get("InstanceGroupNames")
        receivers = [host for host in hosts if not groups or host.group in groups]
        prefix = Location.parse(source["S3Uri"])
        sizes = objects.sizes(prefix)
        sharded = source.get("S3DataDistributionType") == "ShardedByS3Key"
        placed = 0
        for number, host in enumerate(receivers):
            folder = _folder(host, channel)
            folder.mkdir(parents=True, exist_ok=True)
            theirs = list(sizes)[number :: len(receivers)] if sharded else list(sizes)
            left[host.number] -= sum(sizes[key] for key in theirs)
            if left[host.number] < 0:
                raise RequestFault(
                    f"No space left on device: the input of {host.name} needs more than the {disk_bytes} bytes of disk "
                    f'space that the sandbox gives a host. Use a part of the objects under S3 URL "{prefix}".'
                )
            placed += s3_objects.download_all(objects, prefix, theirs, folder)
        if not placed:
            # The wording of SageMaker (seen).
            raise RequestFault(
                f'No S3 objects found under S3 URL "{prefix}" given in input data source. Please ensure that the '
                f"bucket exists, and that objects exist under that S3 prefix."
            )


def _folder(host: Host, channel: Mapping[str, Any]) -> Path:
    return host.ml / "input/data" / str(channel["ChannelName"])
