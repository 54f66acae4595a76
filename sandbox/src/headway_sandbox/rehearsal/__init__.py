"""A rehearsal of preemption: does a training script survive it?

The script runs on this machine as a training job does with `headway sandbox up --train`
(`headway_sandbox.training`), undisturbed and preempted. What it then does is judged (`judgement`).
"""
