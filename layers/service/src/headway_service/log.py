"""The one structured logger: JSON lines with job and attempt names, and never a request's content."""

from __future__ import annotations

from aws_lambda_powertools import Logger

logger = Logger()
