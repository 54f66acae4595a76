"""What may a team or an owner use in a week, a month or some days, and what is left of it? Pure."""
