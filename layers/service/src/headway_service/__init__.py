"""The AWS side of Headway: admission, the store, launching and observing SageMaker training jobs."""

__version__ = "0.1.0"
