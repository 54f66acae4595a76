"""The instance types that SageMaker trains on."""

from __future__ import annotations

from dataclasses import dataclass

from headway.instances.table import TABLE


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
    row = TABLE.get(instance_type)
    if row is None:
        return None
    vcpus, memory_mib, gpus, gpu_memory_mib, gpu = row
    return InstanceSpec(
        name=instance_type, vcpus=vcpus, memory_mib=memory_mib, gpus=gpus, gpu_memory_mib=gpu_memory_mib, gpu=gpu
    )


def all_specs() -> tuple[InstanceSpec, ...]:
    """All known types, by name."""
    return tuple(spec for name in sorted(TABLE) if (spec := spec_of(name)) is not None)
