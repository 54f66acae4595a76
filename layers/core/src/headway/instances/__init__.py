"""What does an instance of a type have? vCPUs, memory, GPUs.

The only table of instance types. It decides nothing: pools count instances, whatever they have.
"""

from headway.instances.specs import InstanceSpec, all_specs, gpus_of, known_types, spec_of

__all__ = ["InstanceSpec", "all_specs", "gpus_of", "known_types", "spec_of"]
