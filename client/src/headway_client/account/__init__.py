"""Can the AWS account run the queue, before a deployment and after it?

`headway doctor --account` and `make deploy` ask. `read` has the calls of AWS; the checks are functions of what it said.
"""
