"""The command line `headway`: the common options and the list of commands, which declare their own arguments."""

from __future__ import annotations

from collections.abc import Sequence

import click

from headway_client.cli.command import Group, common_options
from headway_client.cli.commands.jobs import (
    advise,
    board,
    compare,
    connect,
    events,
    forecast,
    history,
    logs,
    queue,
    results,
    show,
    submit,
    update,
    usage,
    wait,
)
from headway_client.cli.commands.local import completion, doctor, rehearse, sandbox, simulate, version
from headway_client.cli.commands.operations import (
    actions,
    budgets,
    config,
    dlq,
    forget,
    policy,
    pool_operations,
    pools,
    recount,
    teams,
)
from headway_client.version import __version__

_EPILOG = """\
`ls` is another name of queue, and `cancel` of stop.

The endpoint of the queue comes from --endpoint, HEADWAY_ENDPOINT, the profile (--profile, HEADWAY_PROFILE or the
default of ~/.config/headway/config.toml), or a sandbox.

\b
Exit codes: 0 done, 2 wrong usage, 3 refused, 4 no such job or pool,
5 conflict, 6 not reachable or not allowed, 7 server busy or failing,
8 a job that was waited for failed or was stopped, 9 timeout of a wait,
10 server too old, 1 unexpected error, 130 interrupted.
Of several jobs the highest exit code counts.
"""

cli = Group(
    "headway",
    title="COMMAND",
    help="Queue SageMaker training jobs on a fixed number of instances, ordered by priority.",
    epilog=_EPILOG,
    params=common_options(),
    aliases={"ls": "queue", "cancel": "stop"},
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(__version__, message="headway %(version)s")(cli)

_SECTIONS: dict[str, Sequence[click.Command]] = {
    "Submitting": (submit.submit,),
    "Inspecting": (
        *(queue.queue, show.show, results.results, forecast.why, forecast.forecast, forecast.what_if, history.history),
        *(
            compare.compare,
            advise.advise,
            events.events,
            usage.usage,
            usage.report,
            pools.capacity,
            teams.teams,
            budgets.budgets,
        ),
        board.board,
    ),
    "Running jobs": (wait.wait, logs.logs, connect.connect),
    "Changing jobs": (update.stop, update.priority, update.change, update.comment, update.hold, update.release),
    "Operating the queue": (
        *(config.config, pool_operations.pause, pool_operations.resume, pool_operations.drain, pool_operations.resize),
        *(policy.policy, dlq.dlq, recount.recount, actions.actions, forget.forget),
    ),
    "Local commands": (
        *(doctor.doctor, version.version, completion.completion),
        *(sandbox.sandbox, rehearse.rehearse, simulate.simulate),
    ),
}
"""The commands by the sections of the help, which are those of the page on the command line."""

for _section, _commands in _SECTIONS.items():
    cli.add_section(_section, _commands)
