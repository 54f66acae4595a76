"""Workflows of Covalent with training jobs as steps: CPU instances prepare data, a GPU pool trains a sweep."""

import json
import os
import sys
import time

import covalent as ct

IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1"


def executor(instance_type: str) -> ct.executor.HeadwayExecutor:
    return ct.executor.HeadwayExecutor(
        image=IMAGE,
        role_arn=os.environ["ROLE_ARN"],
        s3_uri=os.environ["TASKS_URI"],
        instance_type=instance_type,
        max_runtime_s=600,
        poll_s=0.5,
    )


cpu, gpu = executor("ml.m5.xlarge"), executor("ml.g5.xlarge")


@ct.electron(executor=cpu)
def prepare(rows: int) -> list[float]:
    if rows < 1:
        raise ValueError(f"there is no data: {rows} rows")
    return [row / rows for row in range(rows)]


@ct.electron(executor=gpu)
def train(data: list[float], rate: float) -> dict[str, float]:
    weight = 0.0
    for _ in range(50):
        weight -= rate * sum(2 * (weight - value) for value in data) / len(data)
    return {"rate": rate, "loss": sum((weight - value) ** 2 for value in data) / len(data)}


@ct.electron(executor=cpu)
def best(trials: list[dict[str, float]]) -> dict[str, float]:
    return min(trials, key=lambda trial: trial["loss"])


@ct.lattice
def sweep(rows: int, rates: list[float]) -> dict[str, float]:
    data = prepare(rows)
    return best([train(data, rate) for rate in rates])


@ct.electron(executor=gpu)
def train_for_long() -> None:
    time.sleep(500)


@ct.lattice
def endless() -> None:
    return train_for_long()


def main(name: str) -> None:
    if name == "sweep":
        dispatch = ct.dispatch(sweep)(5, [0.001, 0.3, 0.01])
    elif name == "failure":
        dispatch = ct.dispatch(sweep)(0, [0.1])
    else:
        dispatch = ct.dispatch(endless)()
        print(dispatch, flush=True)
        sys.stdin.readline()
        ct.cancel(dispatch)
    result = ct.get_result(dispatch, wait=True)
    nodes = {node["node_name"]: [str(node["status"]), node["stderr"]] for node in result.get_all_node_results()}
    print(json.dumps({"status": str(result.status), "result": result.result, "nodes": nodes}))


if __name__ == "__main__":
    main(sys.argv[1])
