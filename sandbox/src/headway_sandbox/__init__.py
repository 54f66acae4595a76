"""How does Headway run on one machine? An emulated AWS with a fake SageMaker that behaves like the real service.

`headway_sandbox.sagemaker.service` is the fake SageMaker as a pure state machine. `headway_sandbox.server.http_proxy`
serves it over HTTP together with an emulator of the other services. `headway_sandbox.local.manager` starts and stops
both and deploys Headway's template to them.
"""
