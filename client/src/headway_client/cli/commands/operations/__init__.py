"""The commands on pools and the configuration."""
