"""The heterogeneous cluster with Ray Data: a Ray cluster on the CPU group augments the images of the trainer.

The trainer alone is that of examples/heterogeneous. Both jobs have half of the workers of that example, as Ray's are
processes, which have to fit on this machine. The example fails if the throughput is not at least 1.5 times as high.
"""

from __future__ import annotations

from examples.heterogeneous.run import ALONE, WITH_DATA_HOSTS, compare, throughput
from examples.heterogeneous.run import IMAGE as IMAGE_ALONE
from examples.heterogeneous.run import SCRIPTS as SCRIPTS_ALONE
from examples.submission import Account

SCRIPTS = [
    *(f"examples/ray_data/{name}.py" for name in ("train", "cluster")),
    *(f"examples/heterogeneous/{name}.py" for name in ("train", "images", "prefetch")),
]
IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/ray:2"
ARGUMENTS = {"steps": 240, "warm-up": 80, "trainer-workers": 2, "data-workers": 4}
"""Ray starts a process for each worker in the first steps."""
AT_LEAST = 1.5


def main() -> None:
    """Run both jobs one after the other and print their table."""
    account = Account.from_command_line(__doc__)
    alone = throughput(account, "alone", ALONE, SCRIPTS_ALONE, IMAGE_ALONE, ARGUMENTS)
    together = throughput(account, "with-ray", WITH_DATA_HOSTS, SCRIPTS, IMAGE, ARGUMENTS)
    compare(alone, together, at_least=AT_LEAST)


if __name__ == "__main__":
    main()
