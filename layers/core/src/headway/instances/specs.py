"""The instance types that SageMaker trains on."""

from __future__ import annotations

from dataclasses import dataclass

from headway.instances.table import TABLE
from headway.instances.undescribed import UNDESCRIBED

_ROWS = {**TABLE, **UNDESCRIBED}


@dataclass(frozen=True, kw_only=True, slots=True)
class InstanceSpec:
    """What an instance has.

    Attributes:
        name: its type, such as ``ml.g5.xlarge``.
        vcpus: its vCPUs.
        memory_mib: its memory, MiB.
        gpus: its GPUs.
        gpu_memory_mib: the memory of each, MiB; 0 without GPUs.
        gpu: their model, such as ``A10G``; empty without GPUs.
    """

    name: str
    vcpus: int
    memory_mib: int
    gpus: int
    gpu_memory_mib: int
    gpu: str

    @property
    def family(self) -> str:
        """Such as ``g5``."""
        return self.name.split(".")[1]


def spec_of(instance_type: str) -> InstanceSpec | None:
    """What an instance of a type has; None if the type is not known here."""
    row = _ROWS.get(instance_type)
    if row is None:
        return None
    vcpus, memory_mib, gpus, gpu_memory_mib, gpu = row
    return InstanceSpec(
        name=instance_type, vcpus=vcpus, memory_mib=memory_mib, gpus=gpus, gpu_memory_mib=gpu_memory_mib, gpu=gpu
    )


def gpus_of(instance_type: str) -> int | None:
    """The GPUs of an instance, such as 8 for ``ml.p5.48xlarge``; 0 if it has none, None if the type is not known here.

    Utilization figures of a host run to 100 for each of its GPUs (SageMaker guide, "Amazon SageMaker AI metrics in
    Amazon CloudWatch"), so their scale depends on this number.
    """
    spec = spec_of(instance_type)
    return None if spec is None else spec.gpus


def known_types() -> frozenset[str]:
    """The names of all types that are known here."""
    return frozenset(_ROWS)


def all_specs() -> tuple[InstanceSpec, ...]:
    """The known types that advice may propose, by name: those that EC2 describes."""
    return tuple(spec for name in sorted(TABLE) if (spec := spec_of(name)) is not None)
