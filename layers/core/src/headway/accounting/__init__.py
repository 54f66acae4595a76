"""How are usage sums made, merged and divided by days, and which instances are idle while jobs wait? Pure.

Imported by `headway_service.accounting`, which keeps the sums, and by the client, which shows them.
"""
