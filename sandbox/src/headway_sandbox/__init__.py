"""Headway's sandbox: AWS on one machine, with a SageMaker that behaves like the real one.

`headway_sandbox.fleet` is the fake SageMaker as a pure state machine, `headway_sandbox.cloud` puts it on HTTP
beside an emulator of the other services, and `headway_sandbox.manager` starts and stops the whole and deploys
the system's own template to it.
"""
