"""Training jobs that run: how does the script of a training job run on this machine, as it would on SageMaker?

One process per job, the supervisor (`headway_sandbox.training.supervisor`), does what SageMaker does around a container
(`platform`) and starts the container (`container`). The server starts the supervisor and reads its messages
(`headway_sandbox.server.training_runs`). A supervisor, its container and all files of a job end with the job, with the
supervisor, and with the server.
"""
