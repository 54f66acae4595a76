"""What does an instance of a type have? vCPUs, memory, GPUs.

Imported by advice on jobs. It decides nothing: pools count instances, whatever they have.
"""

from headway.instances.specs import InstanceSpec, all_specs, spec_of

__all__ = ["InstanceSpec", "all_specs", "spec_of"]
