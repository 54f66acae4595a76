"""Format results as tables and sentences."""

from __future__ import annotations

from headway_client.cli.output.actions import action_rows
from headway_client.cli.output.budgets import budget_rows
from headway_client.cli.output.columns import sorted_jobs
from headway_client.cli.output.config_history import change_rows
from headway_client.cli.output.dead_letters import letter_rows, redrive_sentence
from headway_client.cli.output.dependencies import dependency_tables
from headway_client.cli.output.forecast import dry_run_sheet, explanation_sheet, forecast_rows, what_if_sheet
from headway_client.cli.output.jobs import history_rows, job_rows, job_sentence, job_sheet, jobs_table, rogue_sentence
from headway_client.cli.output.policy import rehearsal_sheet
from headway_client.cli.output.pools import pool_rows, pool_sentence
from headway_client.cli.output.teams import team_rows
from headway_client.cli.output.usage.ended_jobs import ended_job_rows, sorted_ended_jobs
from headway_client.cli.output.usage.tables import usage_rows
from headway_client.cli.output.values import output_width

__all__ = [
    "action_rows",
    "budget_rows",
    "change_rows",
    "dependency_tables",
    "dry_run_sheet",
    "ended_job_rows",
    "explanation_sheet",
    "forecast_rows",
    "history_rows",
    "job_rows",
    "job_sentence",
    "job_sheet",
    "jobs_table",
    "letter_rows",
    "output_width",
    "pool_rows",
    "pool_sentence",
    "redrive_sentence",
    "rehearsal_sheet",
    "rogue_sentence",
    "sorted_ended_jobs",
    "sorted_jobs",
    "team_rows",
    "usage_rows",
    "what_if_sheet",
]
