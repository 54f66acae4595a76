"""Instance types that SageMaker names and DescribeInstanceTypes, which the table is made of, does not describe.

The P2 and P3 families are earlier generations, P6e-GB200 comes in UltraServers only. So they are known, and never
proposed. Figures: EC2 user guide, "Specifications for Amazon EC2 accelerated computing instances", in the order of the
table; 740 GB are on the four GPUs of a P6e-GB200 instance.
"""

from __future__ import annotations

UNDESCRIBED: dict[str, tuple[int, int, int, int, str]] = {
    "ml.p2.xlarge": (4, 62464, 1, 12288, "K80"),
    "ml.p2.8xlarge": (32, 499712, 8, 12288, "K80"),
    "ml.p2.16xlarge": (64, 749568, 16, 12288, "K80"),
    "ml.p3.2xlarge": (8, 62464, 1, 16384, "V100"),
    "ml.p3.8xlarge": (32, 249856, 4, 16384, "V100"),
    "ml.p3.16xlarge": (64, 499712, 8, 16384, "V100"),
    "ml.p6e-gb200.36xlarge": (144, 983040, 4, 189440, "GB200"),
}
