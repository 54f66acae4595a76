"""Headway's sandbox: AWS on one machine, with a SageMaker that behaves like the real one.

`headway_sandbox.sagemaker.service` is the fake SageMaker as a pure state machine, `headway_sandbox.server.http_proxy`
puts it on HTTP beside an emulator of the other services, and `headway_sandbox.local.manager` starts and stops the whole
and deploys the system's own template to it.
"""
