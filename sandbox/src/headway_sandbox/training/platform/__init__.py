"""What SageMaker does around a container: its input, checkpoints, logs, metrics, artifacts and failures."""
