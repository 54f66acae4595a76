"""How many GPUs an instance of a SageMaker instance type has.

Utilisation figures of a host run to 100 for each of its GPUs (SageMaker guide, "Amazon SageMaker AI metrics in Amazon
CloudWatch"), so its scale depends on their number.
"""

from __future__ import annotations

import re

# EC2 user guide, "Specifications for Amazon EC2 accelerated computing instances". By family and size.
_ONE = dict.fromkeys(("xlarge", "2xlarge", "4xlarge", "8xlarge", "16xlarge"), 1)
_GPUS = {
    "p2": {"xlarge": 1, "8xlarge": 8, "16xlarge": 16},
    "p3": {"2xlarge": 1, "8xlarge": 4, "16xlarge": 8},
    "p3dn": {"24xlarge": 8},
    "p4d": {"24xlarge": 8},
    "p4de": {"24xlarge": 8},
    "p5": {"4xlarge": 1, "48xlarge": 8},
    "p5e": {"48xlarge": 8},
    "p5en": {"48xlarge": 8},
    "p6-b200": {"48xlarge": 8},
    "p6-b300": {"48xlarge": 8},
    "p6e-gb200": {"36xlarge": 4},
    "g4dn": {**_ONE, "12xlarge": 4},
    "g5": {**_ONE, "12xlarge": 4, "24xlarge": 4, "48xlarge": 8},
    "g6": {**_ONE, "12xlarge": 4, "24xlarge": 4, "48xlarge": 8},
    "g6e": {**_ONE, "12xlarge": 4, "24xlarge": 4, "48xlarge": 8},
    "g7e": {"2xlarge": 1, "4xlarge": 1, "8xlarge": 1, "12xlarge": 2, "24xlarge": 4, "48xlarge": 8},
}

# Families without GPUs: general purpose (m, t), compute (c), memory (r); Trainium and Inferentia, whose cores SageMaker
# publishes no figures of.
_WITHOUT = re.compile(r"(?:[cmrt]\d[a-z0-9]*(?:-flex)?|trn\d[a-z]*|inf\d[a-z]*)\Z")


_ACCELERATED = re.compile(r"ml\.(?:p|g|trn)\d")


def is_accelerated(instance_type: str) -> bool:
    """Whether MaxPendingTimeInSeconds has an effect on jobs on this type (API reference, StoppingCondition)."""
    return _ACCELERATED.match(instance_type) is not None


def gpus_of(instance_type: str) -> int | None:
    """The GPUs of an instance, such as 8 for ``ml.p5.48xlarge``; 0 if it has none, None if the type is not known."""
    _, _, rest = instance_type.partition("ml.")
    family, _, size = rest.partition(".")
    if family in _GPUS:
        return _GPUS[family].get(size)
    return 0 if _WITHOUT.match(family) else None
