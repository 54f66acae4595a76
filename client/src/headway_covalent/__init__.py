"""Covalent's tasks as training jobs of the queue.

`headway_covalent.headway.HeadwayExecutor` is a plugin of Covalent: `pip install "headway[covalent]"`, then
``ct.electron(executor="headway")`` with the settings of Covalent's configuration, or an executor of one's own for each
kind of step.
"""
